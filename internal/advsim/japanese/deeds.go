package japanese

// A deed is a kind of doing: verbs of one deed can stand for each other.
type deed int

const (
	noDeed deed = iota
	unknownDeed
	goes
	leaves
	comes
	looks
	searches
	reads
	takes
	receives
	gives
	shows
	places
	uses
	kindles
	quenches
	strikes
	pulls
	pushes
	opens
	closes
	eats
	drinks
	rides
	inquires
	tells
	greets
	listens
	knows
	thanks
	agrees
	writes
	waits
	rests
	sleeps
	sits
	stands
	touches
	warms
	throws
	breaks
	cuts
	digs
	cleans
	wears
	hides
	ties
	unties
	mends
	makes
	helps
	calls
	waves
	sings
	prays
	thinks
	counts
	pours
	buys
	pays
	returns
	shifts
	turns
	hangs
	rows
	fishes
	shouts
	follows
	stops
	isThere
	quits
	becomes
	freezes
	sounds
	appears
	clears
	feels
	cries
	does
	orders
	invites
	meets
	spreads
	stays
	entrusts
	grips
	refuses
	signals
	melts
	arrives
	smells
	delays
	rubs
	requests // お願いします

	deeds // how many there are
)

// speech are the deeds that are done to somebody with words.
var speech = []deed{inquires, tells, greets, listens, calls}

// kin are deeds that are close to each other: one may be meant by the other
// if nothing fits better.
var kin = [][]deed{
	speech,
	{takes, receives, buys},
	{takes, grips},
	{grips, touches},
	{rubs, kindles},
	{rubs, cleans},
	{rubs, touches},
	{melts, warms},
	{signals, shouts, waves},
	{delays, stops, waits},
	{arrives, sits},
	{looks, searches, reads},
	{eats, drinks, orders},
	{orders, receives},
	{opens, reads},
	{stays, waits},
	{entrusts, gives},
	{gives, shows, returns, places},
	{strikes, pushes},
	{pulls, shifts, turns},
	{waits, rests, sits},
	{kindles, uses},
	{touches, pushes},
	{mends, makes, ties},
	{shouts, calls},
	{agrees, helps},
	{places, hangs},
	{opens, unties},
}

// inverse is what a deed comes to when it is asked of another: who says
// 「教えて」 asks.
var inverse = map[deed]deed{
	tells:    inquires,
	shows:    looks,
	gives:    receives,
	inquires: inquires,
	takes:    receives,
	receives: receives,
	looks:    shows,
	comes:    invites,
}

// likeness is how close two deeds are, of a hundred.
func likeness(a, b deed) int { return likenesses[a][b] }

// akin reports whether one deed may be meant by the other.
func akin(a, b deed) bool { return likeness(a, b) > 0 }

var likenesses = func() (table [deeds][deeds]int) {
	for _, group := range kin {
		for _, a := range group {
			for _, b := range group {
				table[a][b] = kinWorth
			}
		}
	}
	for d := range table {
		table[d][d] = 100
	}
	table[noDeed][noDeed], table[unknownDeed][unknownDeed] = 0, 0
	return table
}()

// speaksForItself reports whether a verb may be said alone, with nothing named.
// One may look at, talk about and go to too much.
func speaksForItself(d deed) bool {
	switch d {
	case goes, leaves, comes, looks, inquires, tells, greets, listens, knows, does, unknownDeed:
		return false
	}
	return !isState(d)
}

// isState reports whether a verb tells what is the case rather than what is done.
func isState(d deed) bool { return isThere <= d && d <= cries }

// accompanies reports whether something is often done on the way to another.
func accompanies(d deed) bool {
	switch d {
	case uses, stands, greets, comes, goes, grips:
		return true
	}
	return false
}
