package advsim

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// The story that is played: one evening in Shiranari, a harbour town that is on
// no map, as the drift ice comes in.
//
//go:embed shiranari/*.yaml
var embedded embed.FS

// shiranariFolder is where the story stands beside this file, and in embedded.
const shiranariFolder = "shiranari"

// shiranari returns the files of the story.
func shiranari() fs.FS {
	files, err := fs.Sub(embedded, shiranariFolder)
	if err != nil {
		panic(err) // cannot be: the folder's name is a valid path
	}
	return files
}

// fingerprintBytes is how much of the story's hash a state carries. It tells
// versions of one story apart; it is no defence against forgery.
const fingerprintBytes = 4

// A mistake is what is wrong with a story and where, in an author's words.
type mistake struct {
	source
	text string
}

func (m mistake) String() string {
	if m.line == 0 {
		return fmt.Sprintf("%s: %s", m.file, m.text)
	}
	return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.text)
}

// load reads a story from the .yaml files of a folder, all files together, and
// returns every mistake in how they are written and in what they name. Whether
// the story can be played to its end is for check to say. Mistakes name the
// folder as shown.
func load(folder fs.FS, shown string) (*story, []mistake) {
	l := loader{
		first:   make(map[string]source),
		mention: make(map[string]*mention),
	}
	entries, err := fs.ReadDir(folder, ".") // in order of the names
	if err != nil {
		l.add(source{file: shown}, "cannot be read: %v", cause(err))
		return &l.story, l.mistakes
	}
	hash := sha256.New()
	nothing := true
	for _, entry := range entries {
		name := entry.Name()
		if path.Ext(name) != ".yaml" {
			continue
		}
		nothing = false
		content, err := fs.ReadFile(folder, name)
		if err != nil {
			l.add(source{file: path.Join(shown, name)}, "cannot be read: %v", cause(err))
			l.unread = true
			continue
		}
		fmt.Fprintf(hash, "%s %d\n", name, len(content))
		hash.Write(content)
		l.read(path.Join(shown, name), content)
	}
	if nothing {
		l.add(source{file: shown}, "there are no .yaml files here")
		return &l.story, l.mistakes
	}
	l.story.fingerprint = hex.EncodeToString(hash.Sum(nil)[:fingerprintBytes])
	if !l.unread { // or else much would seem to be missing
		l.finish(shown)
	}
	return &l.story, sorted(l.mistakes)
}

// cause returns what is behind an error of a file system: the file is named
// already.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// sorted returns mistakes by where they are, each once.
func sorted(mistakes []mistake) []mistake {
	slices.SortStableFunc(mistakes, func(a, b mistake) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	return slices.Compact(mistakes)
}

// A loader puts one story together.
type loader struct {
	story    story
	mistakes []mistake
	unread   bool                // of a file nothing is known
	first    map[string]source   // where each id, and each text there is one of, stands first
	refs     []reference         // what has to be there once all files are read
	mention  map[string]*mention // by flag
}

// A reference is an id that has to be somebody's.
type reference struct {
	source
	kind, id string
}

// A mention is where a flag is first set and first read.
type mention struct {
	bit       int // beyond maxFlags: one too many
	set, read source
}

func (l *loader) add(at source, format string, args ...any) {
	l.mistakes = append(l.mistakes, mistake{at, fmt.Sprintf(format, args...)})
}

// read reads one file.
func (l *loader) read(name string, content []byte) {
	var root yaml.Node
	if err := yaml.Load(content, &root); err != nil {
		at, text := source{file: name}, err.Error()
		if e, ok := errors.AsType[*yaml.LoadError](err); ok {
			at.line, text = e.Mark.Line, strings.TrimPrefix(e.Message, "yaml: ")
			if e.ContextMsg != "" {
				text = fmt.Sprintf("%s from line %d on: %s", e.ContextMsg, e.ContextMark.Line, text)
			}
		}
		l.add(at, "this is not YAML: %s", text)
		l.unread = true
		return
	}
	s := &l.story
	v := value{&root, name, l}
	if root.Kind == yaml.DocumentNode {
		v.Node = root.Content[0]
	}
	v.keys(keys{
		"start":   l.once("start", &s.start, value.placeID),
		"opening": l.once("opening", &s.opening, value.text),
		"nothing": l.once("nothing", &s.nothing, value.text),
		"over":    l.once("over", &s.over, value.text),
		"places":  each(&s.places, value.place),
		"people":  each(&s.people, value.person),
		"things":  each(&s.things, value.thing),
		"acts":    each(&s.acts, value.act),
		"endings": each(&s.endings, value.ending),
		"hints":   each(&s.hints, value.passage),
		"carried": each(&s.carried, value.passage),
	})
}

// once reads what stands only once in the whole story.
func (l *loader) once(key string, to *string, read func(value) string) func(value) {
	return func(v value) {
		if v.isFirst(key, key) {
			*to = read(v)
		}
	}
}

// finish looks at what only shows when all files are read.
func (l *loader) finish(shown string) {
	for _, key := range []string{"start", "opening", "nothing", "over"} {
		if _, ok := l.first[key]; !ok {
			l.add(source{file: shown}, "%q is missing from the story", key)
		}
	}
	for _, r := range l.refs {
		if _, ok := l.first[r.kind+" "+r.id]; !ok {
			l.add(r.source, "there is no %s %q", r.kind, r.id)
		}
	}
	for i := range l.story.acts {
		a := &l.story.acts[i]
		for _, p := range l.story.people {
			if a.at == "" && p.id == a.to {
				a.at = p.at
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.mention)) {
		switch m := l.mention[name]; {
		case m.bit >= maxFlags:
			l.add(cmp.Or(m.set, m.read), "flag %q is one too many: a story has %d at most", name, maxFlags)
		case m.set == source{}:
			l.add(m.read, "flag %q is read, but no telling sets it", name)
		case m.read == source{}:
			l.add(m.set, "flag %q is set, but nothing reads it", name)
		}
	}
}

// A value is what stands behind a key or in a list, with the file it is in.
type value struct {
	*yaml.Node
	file string
	*loader
}

func (v value) source() source { return source{v.file, v.Line} }

func (v value) mistake(format string, args ...any) { v.add(v.source(), format, args...) }

// isFirst notes that something stands here, and complains if it stood elsewhere
// before. What is named is what must be there once; the story has one of it.
func (v value) isFirst(what, named string) bool {
	before, again := v.first[what]
	if again {
		v.mistake("%s is there twice: first in %s, line %d", named, before.file, before.line)
		return false
	}
	v.first[what] = v.source()
	return true
}

// keys says how to read the value of each key.
type keys map[string]func(value)

// keys reads an object. It complains of keys that it does not know, that are
// there twice, and that are missing though required.
func (v value) keys(known keys, required ...string) {
	if v.Kind != yaml.MappingNode {
		v.mistake("here should be keys with values, like %q", slices.Min(slices.Collect(maps.Keys(known)))+": …")
		return
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(v.Content); i += 2 {
		key, of := value{v.Content[i], v.file, v.loader}, value{v.Content[i+1], v.file, v.loader}
		read, ok := known[key.Value]
		switch {
		case !ok:
			key.mistake("unknown key %q; known here: %s", key.Value, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case seen[key.Value]:
			key.mistake("key %q is there twice", key.Value)
		case of.Kind == yaml.AliasNode || of.Anchor != "":
			of.mistake("anchors (&) and aliases (*) are not used in a story")
		case of.Tag == "!!null":
			key.mistake("%q has nothing behind it", key.Value)
		default:
			read(of)
		}
		seen[key.Value] = true
	}
	for _, key := range required {
		if !seen[key] {
			v.mistake("%q is missing", key)
		}
	}
}

// into reads a value to where it belongs.
func into[T any](to *T, read func(value) T) func(value) {
	return func(v value) { *to = read(v) }
}

// each reads a list and appends what is in it.
func each[T any](to *[]T, read func(value) T) func(value) {
	return func(v value) {
		if v.Kind != yaml.SequenceNode {
			v.mistake("here should be a list")
			return
		}
		for _, item := range v.Content {
			*to = append(*to, read(value{item, v.file, v.loader}))
		}
	}
}

// text reads prose: each line is a paragraph, empty ones are dropped.
func (v value) text() string {
	if v.Kind != yaml.ScalarNode || strings.TrimSpace(v.Value) == "" {
		v.mistake("here should be a text")
		return ""
	}
	var lines []string
	for line := range strings.Lines(v.Value) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// line reads a text of one line.
func (v value) line() string {
	text := v.text()
	if strings.Contains(text, "\n") {
		v.mistake("here should be a text of one line")
	}
	return text
}

// maxLabel is what fits a button on a phone, in code points.
const maxLabel = 12

// label reads what stands on a button.
func (v value) label() string {
	text := v.line()
	if n := len([]rune(text)); n > maxLabel {
		v.mistake("%q has %d characters; a button has room for %d", text, n, maxLabel)
	}
	return text
}

// id reads the name of something: lower-case letters, digits and _.
func (v value) id() string {
	if v.Kind != yaml.ScalarNode {
		v.mistake("here should be one id")
		return ""
	}
	if v.Value == "" || strings.Trim(v.Value, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		v.mistake("%q is no id: an id is made of a-z, 0-9 and _", v.Value)
	}
	return v.Value
}

func (v value) yes() bool {
	if v.Kind != yaml.ScalarNode || v.Value != "true" && v.Value != "false" {
		v.mistake("here should be true or false")
	}
	return v.Value == "true"
}

// newID reads the id that something of a kind gets, the only one of that id.
func (v value) newID(kind string) string {
	id := v.id()
	v.isFirst(kind+" "+id, fmt.Sprintf("%s %q", kind, id))
	return id
}

// nounID reads the id of something that players name: a place, a person or a
// thing. They share one set of ids.
func (v value) nounID(kind string) string {
	id := v.id()
	if v.isFirst("noun "+id, fmt.Sprintf("id %q", id)) {
		v.first[kind+" "+id] = v.source()
	}
	return id
}

// refer reads the id of something that has to be there.
func (v value) refer(kind string) string {
	id := v.id()
	v.refs = append(v.refs, reference{v.source(), kind, id})
	return id
}

func (v value) placeID() string { return v.refer("place") }

// sets reads the flag that a telling sets.
func (v value) sets() flags {
	m := v.flag()
	m.set = cmp.Or(m.set, v.source())
	return 1 << m.bit
}

// reads reads the flags of a condition.
func (v value) reads() flags {
	var all flags
	var read []flags
	each(&read, func(v value) flags {
		m := v.flag()
		m.read = cmp.Or(m.read, v.source())
		return 1 << m.bit
	})(v)
	for _, f := range read {
		all |= f
	}
	return all
}

// flag reads a flag's name. The first mention gives it its bit.
func (v value) flag() *mention {
	name := v.id()
	if name == "" {
		return &mention{bit: maxFlags}
	}
	m := v.mention[name]
	if m == nil {
		m = &mention{bit: len(v.mention)}
		v.mention[name] = m
		if m.bit < maxFlags {
			v.story.flags = append(v.story.flags, name)
		}
	}
	return m
}

// condition returns known with the keys of a condition.
func condition(w *when, known keys) keys {
	known["if"] = into(&w.needs, value.reads)
	known["unless"] = into(&w.unless, value.reads)
	return known
}

func (v value) place() place {
	p := place{source: v.source()}
	v.keys(keys{
		"id":     into(&p.id, func(v value) string { return v.nounID("place") }),
		"name":   into(&p.name, value.line),
		"button": into(&p.button, value.label),
		"names":  each(&p.names, value.line),
		"ways":   each(&p.ways, value.placeID),
		"back":   into(&p.back, value.placeID),
		"needs":  into(&p.needs, value.reads),
		"closed": into(&p.closed, value.text),
		"text":   each(&p.text, value.passage),
	}, "id", "name", "button", "ways", "text")
	if p.back != "" && !slices.Contains(p.ways, p.back) {
		v.mistake("back of %q leads to %q, which is not among its ways", p.id, p.back)
	}
	if (p.needs == 0) != (p.closed == "") {
		v.mistake("%q should have both needs and closed, or neither", p.id)
	}
	return p
}

func (v value) person() person {
	p := person{source: v.source()}
	v.keys(keys{
		"id":    into(&p.id, func(v value) string { return v.nounID("person") }),
		"name":  into(&p.name, value.line),
		"names": each(&p.names, value.line),
		"at":    into(&p.at, value.placeID),
	}, "id", "name", "at")
	return p
}

func (v value) thing() thing {
	t := thing{source: v.source()}
	v.keys(keys{
		"id":    into(&t.id, func(v value) string { return v.nounID("thing") }),
		"names": each(&t.names, value.line),
		"at":    into(&t.at, value.placeID),
	}, "id", "names")
	return t
}

// fewestSays is how many example phrases an act needs to be understood in words
// that nobody thought of.
const fewestSays = 3

func (v value) act() act {
	a := act{source: v.source()}
	v.keys(keys{
		"id":       into(&a.id, func(v value) string { return v.newID("act") }),
		"label":    into(&a.label, value.label),
		"at":       into(&a.at, value.placeID),
		"to":       into(&a.to, func(v value) string { return v.refer("person") }),
		"says":     each(&a.says, value.saying),
		"tellings": each(&a.tellings, value.telling),
	}, "id", "label", "says", "tellings")
	different := make(map[string]bool)
	for _, s := range a.says {
		different[s.text] = true
	}
	if len(different) < fewestSays {
		v.mistake("act %q has %d different example phrases; it needs %d", a.id, len(different), fewestSays)
	}
	return a
}

func (v value) saying() saying { return saying{v.source(), v.line()} }

func (v value) telling() telling {
	t := telling{source: v.source()}
	v.keys(condition(&t.when, keys{
		"offered": into(&t.offered, value.yes),
		"button":  into(&t.button, value.label),
		"sets":    into(&t.sets, value.sets),
		"ends":    into(&t.ends, func(v value) string { return v.refer("ending") }),
		"text":    into(&t.text, value.text),
		"more":    each(&t.more, value.passage),
	}), "text")
	if t.button != "" && !t.offered {
		v.mistake("a telling that is not offered has no button")
	}
	if t.sets != 0 && t.ends != "" {
		v.mistake("a telling that ends the story cannot set a flag: nothing comes after it")
	}
	return t
}

func (v value) ending() ending {
	e := ending{source: v.source()}
	v.keys(keys{
		"id":    into(&e.id, func(v value) string { return v.newID("ending") }),
		"title": into(&e.title, value.label),
	}, "id", "title")
	return e
}

func (v value) passage() passage {
	p := passage{source: v.source()}
	v.keys(condition(&p.when, keys{
		"text": into(&p.text, value.text),
	}), "text")
	return p
}
