// Package static serves the game page's files from memory: read and hashed once, when
// the server starts, and compressed once, when one is first asked for.
//
// It owns the addresses of the page and what caches may keep. The page itself is
// asked for anew each time and confirmed by its ETag; an asset's address holds
// the hash of the whole tree, so that an asset may be kept for ever and one
// build's files never mix with another's. What can go wrong is a file that the
// page cannot be made of, and that is New's to say, before anybody has asked.
//
// Security headers and the methods allowed are the caller's.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	pageName = "index.html"
	// placeholder is how the page's source names the assets' folder.
	placeholder = "/assets/HASH/"

	pageRoute  = "page"
	assetRoute = "asset"
)

// contentTypes is every kind of file that a page may have. The system's own
// table is not asked, since it differs between machines.
var contentTypes = map[string]string{
	".css":         "text/css; charset=utf-8",
	".html":        "text/html; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".png":         "image/png",
	".svg":         "image/svg+xml; charset=utf-8",
	".webmanifest": "application/manifest+json; charset=utf-8",
}

// A plainName needs no escaping in an address, so that each file has exactly one.
var plainName = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`)

// A Site is the page and its assets. It never changes.
type Site struct {
	files  map[string]*File // by escaped URL path
	folder string           // of the assets
}

// New reads and hashes the page's files. files must hold an
// index.html, which answers "/"; every other file is an asset.
func New(files fs.FS) (*Site, error) {
	bodies, err := readAll(files)
	if err != nil {
		return nil, err
	}
	page, ok := bodies[pageName]
	if !ok {
		return nil, fmt.Errorf("no %s among the page's files", pageName)
	}
	folder := "/assets/" + treeHash(bodies) + "/"
	page = bytes.ReplaceAll(page, []byte(placeholder), []byte(folder))
	delete(bodies, pageName)

	s := &Site{folder: folder, files: map[string]*File{
		"/": newFile(pageRoute, contentTypes[".html"], "no-cache", gzip.BestCompression, page),
	}}
	for name, body := range bodies {
		contentType, ok := contentTypes[path.Ext(name)]
		if !ok {
			return nil, fmt.Errorf("%s: no content type for such a name", name)
		}
		s.files[folder+name] = newFile(assetRoute, contentType, "public, max-age=31536000, immutable", gzip.BestCompression, body)
	}
	return s, nil
}

// Files returns what answers GET and HEAD of each exact, still escaped URL path. An
// asset of another build is not among them: its newest namesake may not fit.
func (s *Site) Files() iter.Seq2[string, *File] {
	return maps.All(s.files)
}

// Asset returns the address of an asset, for a page that somebody else makes.
func (s *Site) Asset(name string) string {
	return s.folder + name
}

// NewPage returns a document that was made for one request, to be kept and
// confirmed like the page itself. Compressing it takes part of that request's
// time, so it is done less thoroughly.
func NewPage(document []byte) *File {
	return newFile(pageRoute, contentTypes[".html"], "no-cache", gzip.DefaultCompression, document)
}

func readAll(files fs.FS) (map[string][]byte, error) {
	bodies := make(map[string][]byte)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !plainName.MatchString(name) {
			return fmt.Errorf("%q: not a plain file name", name)
		}
		bodies[name], err = fs.ReadFile(files, name)
		return err
	})
	return bodies, err
}

// treeHash is the same for the same names and contents, and for nothing else:
// each part is preceded by its length, so that no byte can change sides.
func treeHash(bodies map[string][]byte) string {
	names := make([]string, 0, len(bodies))
	for name := range bodies {
		names = append(names, name)
	}
	slices.Sort(names)
	var tree []byte
	for _, name := range names {
		for _, part := range [][]byte{[]byte(name), bodies[name]} {
			tree = binary.BigEndian.AppendUint64(tree, uint64(len(part)))
			tree = append(tree, part...)
		}
	}
	return shortHash(tree)
}

// shortHash keeps 64 bits: enough to tell our own builds apart.
func shortHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// A File is one address: the same content, plain and perhaps compressed.
type File struct {
	route        string
	contentType  string
	cacheControl string
	plain        encoded
	gzip         func() *encoded // made at the first call; nil if it would not be smaller
}

// encoded is a file as it goes over the wire.
type encoded struct {
	body []byte
	etag string // strong; of these very bytes, so each encoding has its own
}

func newFile(route, contentType, cacheControl string, level int, body []byte) *File {
	return &File{
		route:        route,
		contentType:  contentType,
		cacheControl: cacheControl,
		plain:        newEncoded(body),
		gzip: sync.OnceValue(func() *encoded {
			if compressed := compress(body, level); len(compressed) < len(body) {
				return new(newEncoded(compressed))
			}
			return nil
		}),
	}
}

func newEncoded(body []byte) encoded {
	return encoded{body: body, etag: `"` + shortHash(body) + `"`}
}

func compress(body []byte, level int) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, level)
	if err != nil {
		panic(err) // the level is one of the constants
	}
	// Writing to a buffer cannot fail.
	w.Write(body)
	w.Close()
	return b.Bytes()
}

// Route names the file for metrics: "page" or "asset".
func (f *File) Route() string {
	return f.route
}

// ServeHTTP answers GET and HEAD, and confirms what the client already has.
// Ranges are not served: the files are small.
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", f.contentType)
	h.Set("Cache-Control", f.cacheControl)
	chosen := f.plain
	if compressed := f.gzip(); compressed != nil {
		h.Set("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Values("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			chosen = *compressed
		}
	}
	h.Set("Etag", chosen.etag)
	http.ServeContent(whole{w, len(chosen.body)}, withoutRange(r), "", time.Time{}, bytes.NewReader(chosen.body))
}

// whole is the answer with the file in it. http.ServeContent leaves out the
// length of an encoded body and offers ranges; this puts both right.
type whole struct {
	http.ResponseWriter
	length int
}

func (w whole) WriteHeader(status int) {
	h := w.Header()
	h.Del("Accept-Ranges")
	if status == http.StatusOK {
		h.Set("Content-Length", strconv.Itoa(w.length))
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w whole) Unwrap() http.ResponseWriter {
	return w.ResponseWriter
}

// withoutRange keeps http.ServeContent from answering with a part.
func withoutRange(r *http.Request) *http.Request {
	if r.Header.Get("Range") == "" {
		return r
	}
	copied := *r
	copied.Header = r.Header.Clone()
	copied.Header.Del("Range")
	return &copied
}

// acceptsGzip reads Accept-Encoding (RFC 9110, section 12.5.3): gzip if it is
// wanted at least as much as no encoding. Without the field, or with one that
// makes no sense, the answer is no: plain is what every client can read.
func acceptsGzip(fields []string) bool {
	const unnamed = -1
	gzip, rest, identity := float64(unnamed), float64(unnamed), float64(unnamed)
	for _, field := range fields {
		for item := range strings.SplitSeq(field, ",") {
			coding, params, _ := strings.Cut(item, ";")
			q, ok := quality(params)
			if !ok {
				continue
			}
			switch strings.ToLower(trimSpace(coding)) {
			case "gzip", "x-gzip":
				gzip = q
			case "*":
				rest = q
			case "identity":
				identity = q
			}
		}
	}
	if gzip == unnamed {
		gzip = rest
	}
	return gzip > 0 && gzip >= identity
}

// quality reads what may follow a coding: nothing, or a weight from 0 to 1 with
// at most three decimals (RFC 9110, section 12.4.2).
func quality(params string) (q float64, ok bool) {
	params = trimSpace(params)
	if params == "" {
		return 1, true
	}
	name, value, _ := strings.Cut(params, "=")
	if !strings.EqualFold(name, "q") || !weight.MatchString(value) {
		return 0, false
	}
	q, err := strconv.ParseFloat(value, 64)
	return q, err == nil
}

var weight = regexp.MustCompile(`^(0(\.[0-9]{0,3})?|1(\.0{0,3})?)$`)

// trimSpace trims what the RFC calls optional whitespace, and no more.
func trimSpace(s string) string {
	return strings.Trim(s, " \t")
}
