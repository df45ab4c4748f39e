package static

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"kiribashiri/internal/calculator"
	"kiribashiri/web"
)

const (
	script  = "export const fog = 'fog fog fog fog fog fog fog fog fog fog fog fog fog fog fog fog';\n"
	picture = "\x89PNG, which does not become smaller"
)

func pageFiles() fstest.MapFS {
	return fstest.MapFS{
		"index.html":       {Data: []byte(`<!doctype html><script src="/assets/HASH/app.js"></script>` + strings.Repeat("<p>fog", 50))},
		"app.js":           {Data: []byte(script)},
		"icons/touch.png":  {Data: []byte(picture)},
		"icons/small.svg":  {Data: []byte("<svg/>")},
		"page.webmanifest": {Data: []byte("{}")},
	}
}

func newSite(t testing.TB, files fs.FS) *Site {
	t.Helper()
	s, err := New(files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// folder returns where the site's assets are, as its page names them.
func folder(t testing.TB, s *Site) string {
	t.Helper()
	match := regexp.MustCompile(`/assets/[0-9a-f]{16}/`).Find(s.files["/"].plain.body)
	if match == nil {
		t.Fatal("the page names no asset")
	}
	return string(match)
}

// ask has f answer a request with these header fields, given as name, value, ….
func ask(t testing.TB, f *File, method string, fields ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, "/", nil)
	for i := 0; i < len(fields); i += 2 {
		r.Header.Add(fields[i], fields[i+1])
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w.Result()
}

func body(t testing.TB, r *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func gunzip(t testing.TB, s string) string {
	t.Helper()
	r, err := gzip.NewReader(strings.NewReader(s))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func hasHeader(t *testing.T, r *http.Response, name, want string) {
	t.Helper()
	if got := r.Header.Get(name); got != want {
		t.Errorf("%s: got %q, want %q", name, got, want)
	}
}

func TestAddresses(t *testing.T) {
	s := newSite(t, pageFiles())
	assets := folder(t, s)
	for _, c := range []struct{ path, route string }{
		{"/", "page"},
		{assets + "app.js", "asset"},
		{assets + "icons/touch.png", "asset"},
		{assets + "page.webmanifest", "asset"},
	} {
		f := s.files[c.path]
		if f == nil {
			t.Errorf("%s: not found", c.path)
			continue
		}
		if f.Route() != c.route {
			t.Errorf("%s: got route %q, want %q", c.path, f.Route(), c.route)
		}
	}
	for _, path := range []string{
		"", "//", "/index.html", "/app.js", "/assets", "/assets/", assets, strings.TrimSuffix(assets, "/"),
		assets + "index.html", assets + "icons", assets + "icons/", assets + "icons/../app.js", assets + "./app.js",
		assets + "/app.js", assets + "app.js/", assets + "app%2Ejs", assets + "APP.JS", assets + "app.js?x", assets + "none.js",
		"/assets/HASH/app.js", "/assets/0000000000000000/app.js", "/assets/app.js", "/favicon.ico", assets + "../../etc/passwd",
		strings.ToUpper(assets) + "app.js", "/%2e%2e/app.js", assets + "app.js\x00",
	} {
		if s.files[path] != nil {
			t.Errorf("%q: found", path)
		}
	}
}

func TestPageNamesTheAssetsOfItsOwnBuild(t *testing.T) {
	files := pageFiles()
	old := newSite(t, files)
	if got := string(old.files["/"].plain.body); strings.Contains(got, "HASH") {
		t.Errorf("placeholder left in %s", got)
	}
	files["app.js"] = &fstest.MapFile{Data: []byte("changed")}
	changed := newSite(t, files)
	if folder(t, old) == folder(t, changed) {
		t.Error("another script, same folder")
	}
	if changed.files[folder(t, old)+"app.js"] != nil {
		t.Error("the old build's address answers with the new script")
	}
	if old.files["/"].plain.etag == changed.files["/"].plain.etag {
		t.Error("another folder, same ETag of the page")
	}
}

func TestHash(t *testing.T) {
	hash := func(parts ...string) string {
		files := make(map[string][]byte)
		for i := 0; i < len(parts); i += 2 {
			files[parts[i]] = []byte(parts[i+1])
		}
		return treeHash(files)
	}
	base := hash("a.js", "bc", "d.js", "e")
	if again := hash("d.js", "e", "a.js", "bc"); again != base {
		t.Errorf("order matters: %s and %s", base, again)
	}
	for name, other := range map[string]string{
		"bytes change sides":   hash("a.jsb", "c", "d.js", "e"),
		"contents change":      hash("a.js", "bd", "d.js", "e"),
		"names change":         hash("b.js", "bc", "d.js", "e"),
		"contents are swapped": hash("a.js", "e", "d.js", "bc"),
		"a file is gone":       hash("a.js", "bc"),
		"two become one":       hash("a.js", "bcd.jse"),
	} {
		if other == base {
			t.Errorf("%s, same hash", name)
		}
	}
}

func TestHeaders(t *testing.T) {
	s := newSite(t, pageFiles())
	assets := folder(t, s)
	const forever = "public, max-age=31536000, immutable"
	for _, c := range []struct{ path, contentType, cache, vary string }{
		{"/", "text/html; charset=utf-8", "no-cache", "Accept-Encoding"},
		{assets + "app.js", "text/javascript; charset=utf-8", forever, "Accept-Encoding"},
		{assets + "icons/touch.png", "image/png", forever, ""},
		{assets + "icons/small.svg", "image/svg+xml; charset=utf-8", forever, ""},
		{assets + "page.webmanifest", "application/manifest+json; charset=utf-8", forever, ""},
	} {
		t.Run(path.Base(c.path), func(t *testing.T) {
			f := s.files[c.path]
			got := ask(t, f, "GET", "Accept-Encoding", "gzip")
			hasHeader(t, got, "Content-Type", c.contentType)
			hasHeader(t, got, "Cache-Control", c.cache)
			hasHeader(t, got, "Vary", c.vary)
			hasHeader(t, got, "Accept-Ranges", "")
			hasHeader(t, got, "Last-Modified", "")
			if tag := got.Header.Get("Etag"); !regexp.MustCompile(`^"[0-9a-f]{16}"$`).MatchString(tag) {
				t.Errorf("ETag: got %s", tag)
			}
			if encoded := got.Header.Get("Content-Encoding") == "gzip"; encoded != (c.vary != "") {
				t.Errorf("encoded: got %v, Vary %q", encoded, c.vary)
			}
		})
	}
}

func TestEncodings(t *testing.T) {
	s := newSite(t, pageFiles())
	f := s.files[folder(t, s)+"app.js"]
	plain := ask(t, f, "GET")
	encoded := ask(t, f, "GET", "Accept-Encoding", "gzip, deflate, br, zstd")

	hasHeader(t, plain, "Content-Encoding", "")
	hasHeader(t, encoded, "Content-Encoding", "gzip")
	if plain.Header.Get("Etag") == encoded.Header.Get("Etag") {
		t.Error("one ETag for two encodings")
	}
	for _, r := range []*http.Response{plain, encoded} {
		wire := body(t, r)
		hasHeader(t, r, "Content-Length", strconv.Itoa(len(wire)))
		if r == encoded {
			wire = gunzip(t, wire)
		}
		if wire != script {
			t.Errorf("got %q, want %q", wire, script)
		}
	}

	incompressible := ask(t, s.files[folder(t, s)+"icons/touch.png"], "GET", "Accept-Encoding", "gzip")
	if got := body(t, incompressible); got != picture {
		t.Errorf("got %q, want %q", got, picture)
	}
}

func TestHeadIsGetWithoutBody(t *testing.T) {
	s := newSite(t, pageFiles())
	for _, encoding := range []string{"gzip", "identity"} {
		get := ask(t, s.files["/"], "GET", "Accept-Encoding", encoding)
		head := ask(t, s.files["/"], "HEAD", "Accept-Encoding", encoding)
		if got := body(t, head); got != "" {
			t.Errorf("%s: HEAD has a body: %q", encoding, got)
		}
		for name := range get.Header {
			hasHeader(t, head, name, get.Header.Get(name))
		}
		hasHeader(t, head, "Content-Length", strconv.Itoa(len(body(t, get))))
	}
}

func TestConditions(t *testing.T) {
	f := newSite(t, pageFiles()).files["/"]
	plain, encoded := f.plain.etag, f.gzip().etag
	for _, c := range []struct {
		name        string
		ifNoneMatch []string
		encoding    string
		status      int
	}{
		{"none", nil, "gzip", 200},
		{"same", []string{encoded}, "gzip", 304},
		{"weak", []string{"W/" + encoded}, "gzip", 304},
		{"list", []string{`"x", W/"y" ,` + encoded + `, "z"`}, "gzip", 304},
		{"star", []string{"*"}, "gzip", 304},
		{"another", []string{`"x"`}, "gzip", 200},
		{"the other encoding's", []string{plain}, "gzip", 200},
		{"plain", []string{plain}, "", 304},
		{"plain has gzip's", []string{encoded}, "", 200},
		{"both", []string{plain + ", " + encoded}, "gzip", 304},
		{"without quotes", []string{strings.Trim(encoded, `"`)}, "gzip", 200},
		{"empty", []string{""}, "gzip", 200},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			t.Run(c.name+" "+method, func(t *testing.T) {
				fields := []string{"Accept-Encoding", c.encoding}
				for _, tag := range c.ifNoneMatch {
					fields = append(fields, "If-None-Match", tag)
				}
				r := ask(t, f, method, fields...)
				if r.StatusCode != c.status {
					t.Fatalf("got %d, want %d", r.StatusCode, c.status)
				}
				hasHeader(t, r, "Cache-Control", "no-cache")
				hasHeader(t, r, "Vary", "Accept-Encoding")
				if r.Header.Get("Etag") == "" {
					t.Error("no ETag")
				}
				if c.status == 304 {
					hasHeader(t, r, "Content-Length", "")
					hasHeader(t, r, "Content-Encoding", "")
					if got := body(t, r); got != "" {
						t.Errorf("304 with a body: %q", got)
					}
				}
			})
		}
	}
}

func TestRangesAreNotServed(t *testing.T) {
	f := newSite(t, pageFiles()).files["/"]
	for _, encoding := range []string{"gzip", ""} {
		r := ask(t, f, "GET", "Accept-Encoding", encoding, "Range", "bytes=0-3", "If-Range", f.plain.etag)
		if r.StatusCode != 200 {
			t.Errorf("got %d, want 200", r.StatusCode)
		}
		hasHeader(t, r, "Content-Length", strconv.Itoa(len(body(t, r))))
		hasHeader(t, r, "Content-Range", "")
	}
	// A condition that fails must not announce a body that never comes.
	r := ask(t, f, "GET", "If-Match", `"x"`)
	if r.StatusCode != 412 {
		t.Errorf("got %d, want 412", r.StatusCode)
	}
	hasHeader(t, r, "Content-Length", "")
}

// Over a real connection the length must hold, or the next answer is garbled.
func TestOverTheWire(t *testing.T) {
	f := newSite(t, pageFiles()).files["/"]
	server := httptest.NewServer(f)
	defer server.Close()
	for _, c := range []struct{ method, name, value string }{
		{"GET", "Accept-Encoding", "gzip"},
		{"HEAD", "Accept-Encoding", "gzip"},
		{"GET", "Accept-Encoding", "identity"},
		{"GET", "If-None-Match", "*"},
		{"GET", "If-Match", `"x"`},
		{"GET", "Range", "bytes=0-3"},
		{"GET", "Accept-Encoding", "gzip"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(c.name, c.value)
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatalf("%s %s: %v", c.name, c.value, err)
		}
		got := body(t, answer)
		answer.Body.Close()
		if c.method == "GET" && answer.StatusCode == 200 && int64(len(got)) != answer.ContentLength && !answer.Uncompressed {
			t.Errorf("%s %s: got %d bytes, announced %d", c.name, c.value, len(got), answer.ContentLength)
		}
	}
}

func TestAcceptEncoding(t *testing.T) {
	for _, c := range []struct {
		fields string // several header lines parted by |
		gzip   bool
	}{
		{"", false},
		{"gzip", true},
		{"GZip", true},
		{"x-gzip", true},
		{"br, gzip", true},
		{"br|gzip", true},
		{"gzip, deflate, br, zstd", true},
		{" gzip ; q=0.5 ", true},
		{"gzip;Q=1.000", true},
		{"gzip;q=0.001", true},
		{"gzip;q=0", false},
		{"gzip;q=0.", false},
		{"gzip;q=0.000", false},
		{"gzip;q=0, *", false},
		{"*", true},
		{"*;q=0", false},
		{"*;q=0, gzip", true},
		{"br;q=1, *;q=0.1", true},
		{"identity", false},
		{"identity, gzip;q=0.5", false},
		{"identity;q=0.5, gzip", true},
		{"identity;q=0.5, gzip;q=0.5", true},
		{"identity;q=0", false},
		{"identity;q=0, *", true},
		{"br, deflate", false},
		{"gzipped", false},
		{"notgzip", false},
		{"gzip;q=1.5", false},
		{"gzip;q=-1", false},
		{"gzip;q=NaN", false},
		{"gzip;q=0.1234", false},
		{"gzip;q=1e-1", false},
		{"gzip;q", false},
		{"gzip;level=9", false},
		{"gzip;;q=1", false},
		{",,;,", false},
	} {
		if got := acceptsGzip(strings.Split(c.fields, "|")); got != c.gzip {
			t.Errorf("%q: got %v, want %v", c.fields, got, c.gzip)
		}
	}
}

func FuzzAsk(f *testing.F) {
	for _, seed := range [][2]string{
		{"gzip", `"x"`}, {"*;q=0.5, identity;q=1", "*"}, {"gzip;q=0", `W/"x", "y"`}, {";q=,", `"`}, {"\xff", "W/"},
	} {
		f.Add(seed[0], seed[1])
	}
	page := newSite(f, pageFiles()).files["/"]
	f.Fuzz(func(t *testing.T, encoding, ifNoneMatch string) {
		r := ask(t, page, "GET", "Accept-Encoding", encoding, "If-None-Match", ifNoneMatch)
		lower := strings.ToLower(encoding)
		if acceptsGzip([]string{encoding}) && !strings.Contains(lower, "gzip") && !strings.Contains(lower, "*") {
			t.Errorf("%q: gzip was not asked for", encoding)
		}
		want := page.plain
		if r.Header.Get("Etag") == page.gzip().etag {
			want = *page.gzip()
		}
		switch r.StatusCode {
		case 200:
			if got := body(t, r); got != string(want.body) {
				t.Errorf("%q: the body is not its ETag's", encoding)
			}
		case 304:
			if !strings.Contains(ifNoneMatch, want.etag) && !strings.Contains(ifNoneMatch, "*") {
				t.Errorf("%q: confirmed what the client has not", ifNoneMatch)
			}
		default:
			t.Errorf("got %d", r.StatusCode)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(fstest.MapFS){
		"no page":         func(files fstest.MapFS) { delete(files, "index.html") },
		"unknown kind":    func(files fstest.MapFS) { files["notes.txt"] = &fstest.MapFile{} },
		"no kind":         func(files fstest.MapFS) { files["LICENSE"] = &fstest.MapFile{} },
		"name with space": func(files fstest.MapFS) { files["my app.js"] = &fstest.MapFile{} },
		"Japanese name":   func(files fstest.MapFS) { files["霧.js"] = &fstest.MapFile{} },
		"percent":         func(files fstest.MapFS) { files["a%2fb.js"] = &fstest.MapFile{} },
	} {
		files := pageFiles()
		change(files)
		if _, err := New(files); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// The page as it is.

func TestPageNamesOnlyWhatExists(t *testing.T) {
	s := newSite(t, web.Files)
	assets := folder(t, s)
	page := string(s.files["/"].plain.body)
	named := make(map[string]bool)
	for _, match := range regexp.MustCompile(`(?:src|href)="(/[^"]*)"`).FindAllStringSubmatch(page, -1) {
		named[match[1]] = true
	}
	for address := range named {
		if s.files[address] == nil {
			t.Errorf("%s: not found", address)
		}
	}
	if !named[assets+"app.js"] || !named[assets+"style.css"] {
		t.Errorf("the page names only %v", named)
	}
	document, _, err := calculator.NewPage(calculator.Config{Asset: s.Asset, PerSecond: 2, Burst: 2}).Render(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`(?:src|href)="(/assets/[^"]*)"`).FindAllSubmatch(document, -1) {
		address := string(match[1])
		named[address] = true
		if s.files[address] == nil {
			t.Errorf("%s: not found", address)
		}
	}
	if !named[assets+"calculator.js"] || !named[assets+"calculator.css"] {
		t.Errorf("the two pages name only %v", named)
	}
	// Every file is there for somebody: a page, or a script.
	var scripts bytes.Buffer
	err = fs.WalkDir(web.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".js" {
			scripts.Write(s.files[assets+name].plain.body)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for address := range s.files {
		if address != "/" && !named[address] && !strings.Contains(scripts.String(), path.Base(address)) {
			t.Errorf("%s: nobody asks for it", address)
		}
	}
}

func TestBudget(t *testing.T) {
	s := newSite(t, web.Files)
	page := string(s.files["/"].plain.body)
	size := make(map[string]int) // bytes on the wire, by extension
	total, requests := 0, 0
	for address, f := range s.files {
		if strings.HasPrefix(path.Base(address), "calculator.") {
			continue // another page's
		}
		bytes := len(f.plain.body)
		if f.gzip() != nil {
			bytes = len(f.gzip().body)
		}
		kind := path.Ext(address)
		if address == "/" {
			kind = ".html"
		}
		size[kind] += bytes
		total += bytes
		// What only a script names is asked for later.
		if address == "/" || strings.Contains(page, `"`+address+`"`) {
			requests++
		}
	}
	t.Logf("%d requests, %d bytes: %v", requests, total, size)
	for _, c := range []struct {
		what     string
		got, max int
	}{
		{"HTML", size[".html"], 14 << 10},
		{"script", size[".js"], 15 << 10},
		{"style", size[".css"], 6 << 10},
		{"all", total, 40 << 10},
		{"requests", requests, 5},
	} {
		if c.got == 0 || c.got > c.max {
			t.Errorf("%s: got %d, want at most %d", c.what, c.got, c.max)
		}
	}
}

// The calculator's own files; what it shares with the game page is counted there.
func TestCalculatorsBudget(t *testing.T) {
	s := newSite(t, web.Files)
	assets := folder(t, s)
	for name, most := range map[string]int{"calculator.js": 4 << 10, "calculator.css": 4 << 10} {
		f := s.files[assets+name]
		if f == nil || f.gzip() == nil {
			t.Errorf("%s: not found, or not compressed", name)
			continue
		}
		t.Logf("%s: %d bytes", name, len(f.gzip().body))
		if got := len(f.gzip().body); got > most {
			t.Errorf("%s: got %d bytes, want at most %d", name, got, most)
		}
	}
}

func TestNewPage(t *testing.T) {
	document := "<!doctype html>" + strings.Repeat("<p>霧", 100)
	f := NewPage([]byte(document))
	r := ask(t, f, "GET")
	if got := body(t, r); got != document {
		t.Errorf("got %q", got)
	}
	hasHeader(t, r, "Cache-Control", "no-cache")
	hasHeader(t, r, "Content-Type", "text/html; charset=utf-8")
	if got := gunzip(t, body(t, ask(t, f, "GET", "Accept-Encoding", "gzip"))); got != document {
		t.Errorf("compressed: %q", got)
	}
	if again := ask(t, NewPage([]byte(document)), "GET", "If-None-Match", r.Header.Get("Etag")); again.StatusCode != http.StatusNotModified {
		t.Errorf("the same page made again: %d, want 304", again.StatusCode)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		newSite(b, web.Files)
	}
}

func BenchmarkServe(b *testing.B) {
	f := newSite(b, web.Files).files["/"]
	for _, c := range []struct{ name, tag string }{{"whole", `"x"`}, {"confirmed", f.gzip().etag}} {
		b.Run(c.name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
			r.Header.Set("If-None-Match", c.tag)
			b.ReportAllocs()
			for b.Loop() {
				f.ServeHTTP(httptest.NewRecorder(), r)
			}
		})
	}
}
