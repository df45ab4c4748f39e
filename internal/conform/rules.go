package conform

// The rules' names, as the report and the documents have them.
const (
	ruleStart    = "start"
	ruleID       = "id"
	ruleLines    = "lines"
	ruleStdout   = "stdout"
	ruleJSON     = "json"
	ruleSize     = "size"
	ruleFlush    = "flush"
	ruleNew      = "new"
	ruleMove     = "move"
	ruleSame     = "same"
	ruleMemory   = "memory"
	ruleBrowser  = "browser"
	ruleSpelling = "spelling"
	ruleText     = "text"
	ruleKind     = "kind"
	ruleState    = "state"
	ruleLarge    = "large"
	rulePieces   = "pieces"
	ruleEnd      = "end"
	ruleClosed   = "closed"
	ruleOffers   = "offers"
	ruleTime     = "time"
)

// A rule is one thing that an engine promises.
type rule struct {
	name  string
	title string // completes "the engine …"
	why   string // it matters
	do    string // what its author can do, where the fault says nothing better
}

// rules are all of them, in the order of the report.
var rules = []rule{
	{ruleStart, "starts and answers a ping in time",
		"An engine that does not is never given a move: players get 503.",
		"Read lines from stdin until it ends, and answer each with one line, the ping too. Whatever else the program says belongs to stderr."},
	{ruleID, "echoes the id of each line",
		"The id tells the server whose reply it is. A reply with another id reaches nobody: the player gets 502, and the engine is killed.",
		`Copy the number at "id" from the line into its reply.`},
	{ruleLines, "writes one line for each line, and none unasked",
		"A line too many would be the next player's reply. The engine is killed first.",
		"Write exactly one line for each line that you read. What the program wants to say besides belongs to stderr."},
	{ruleStdout, "writes nothing but replies to stdout",
		"The server takes each line for a reply: the player gets 502, and the engine is killed.",
		"Send logs, warnings and debug prints to stderr: print(…, file=sys.stderr), std::cerr, console.error."},
	{ruleJSON, "replies with JSON objects in UTF-8",
		`The server reads each reply: an object, valid UTF-8, no name twice in it, "ok" true or false, "id" a whole number. For anything else the player gets 502, and the engine is killed.`,
		"Have a JSON library write the reply."},
	{ruleSize, "keeps a reply within the limit",
		"The server reads no further: the player gets 502, and the engine is killed.",
		"Shorten text and state."},
	{ruleFlush, `ends each reply with \n and sends it at once`,
		"Without it the server waits in vain: the player gets 504, and the engine is killed. It does not show in a terminal, where programs do not buffer.",
		`End the line with \n and flush stdout after it: print(…, flush=True), std::cout << … << std::endl, fflush(stdout), $| = 1.`},
	{ruleNew, `begins a game: "new" brings a state`,
		"Nobody can begin to play. The state is what the browser sends with the next move; without one each move is the first.",
		`Answer {"id":1,"kind":"new"} with "ok":true, "text" and "state". Any JSON value but null is a state.`},
	{ruleMove, "plays moves with the state that it gave",
		"This is the game.",
		"Run the line by hand, and see what the program says to stderr."},
	{ruleSame, "gives the same reply to the same state and input",
		"Players send a move again when an answer is lost, and a restart continues their game in another process. Chance, the clock and the order of a hash table must not show.",
		"Put the seed of all chance into the state, leave the clock out, and sort what has no order."},
	{ruleMemory, "keeps nothing between moves",
		"All players share the engine: one's game would show up in another's, and be lost with the process.",
		"Put all that a game needs into the state. A random generator that goes on from move to move is memory too."},
	{ruleBrowser, "gives states that come back unchanged",
		"The state travels through a browser and the server, which refuses a move that it cannot hand on: the game would be stuck.",
		"Keep states small and plain."},
	{ruleSpelling, "reads JSON however it is spelled",
		`Not every sender writes JSON as browsers do: "\u9727" is "霧", and blanks may stand between the values.`,
		"Have a JSON library read the line."},
	{ruleText, "takes whatever a player may type",
		"Players type it. One who can end the engine ends it for everybody.",
		`Read lines as bytes up to \n, decode them as UTF-8, and nothing else: U+2028 and the like are no line breaks in JSON. Count characters and not bytes where you cut text.`},
	{ruleKind, "answers a kind that it does not know",
		"KIRI_KINDS may name a kind that the engine has not learned yet.",
		`Answer with "ok":false and an "error" for the player.`},
	{ruleState, "answers a state that is missing or makes no sense",
		"The state comes from the player's side, who can change it at will. One who can end the engine ends it for everybody.",
		`Check what you use of the state, its types and its ranges, and answer with "ok":false and an "error" for the player. Catch all the rest around the whole move.`},
	{ruleLarge, "takes a large state",
		"The state comes from the player's side, who can send one as large and as deeply nested as the server lets through.",
		`Read lines of any length, catch what the JSON library throws, and answer with "ok":false. The id can be read without it: it stands first in the line.`},
	{rulePieces, "reads lines: two at once, and one in two parts",
		"A pipe keeps no borders: lines come as the system cuts them. A line that is lost is an answer that a player waits for.",
		`Read up to each \n, and keep what has come behind it for the next line.`},
	{ruleEnd, "leaves at the end of stdin, with every reply written",
		"The end of stdin is how the server says goodbye. An engine that stays is sent SIGTERM, then killed, and each restart takes that much longer.",
		"End the program when reading says that stdin has ended."},
	{ruleClosed, "leaves also when nobody reads its stdout any more",
		"When the server has died, so must its engines.",
		"End the program when writing fails, or at the end of stdin at the latest."},
	{ruleOffers, "offers what the page can show",
		"The page leaves out what it cannot use: the player sees an empty reply, or misses a button.",
		`"text" and "place" are strings, "end" is a boolean; "choices" and "places" are arrays of {"label":"…","kind":"…","input":"…"}, with a kind among KIRI_KINDS.`},
	{ruleTime, "starts and answers soon",
		"While an engine thinks, everybody waits; while it starts, moves wait for a second and then get 503.",
		"Load less, or load it when it is first needed. KIRI_SIM_ENGINES=2 lets another one play meanwhile."},
}

const (
	adviceUTF8   = "Write UTF-8 without a byte-order mark, whatever the system's own encoding is, and cut no text in the middle of a character. (.NET: new UTF8Encoding(false). Python: json.dumps writes ASCII by itself.)"
	adviceSpread = "Write each reply on one line: no indentation, no pretty printing."
)
