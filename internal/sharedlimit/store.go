package sharedlimit

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/valkey-io/valkey-go"
)

// A Store says where the shared buckets are: one server, or some of a cluster's.
// The zero Store is none.
type Store struct {
	addrs      []string
	tls        bool
	user, pass string
	database   int
}

// UnmarshalText reads redis:// or valkey:// URLs with commas between them. Its errors
// do not show what they are about, for a URL may hold a password.
func (s *Store) UnmarshalText(text []byte) error {
	*s = Store{}
	for i, entry := range strings.Split(string(text), ",") {
		one, err := parse(strings.TrimSpace(entry))
		switch {
		case err != nil:
			return fmt.Errorf("entry %d: %w", i+1, err)
		case i == 0:
			*s = one
		case one.tls != s.tls || one.user != s.user || one.pass != s.pass:
			return fmt.Errorf("entry %d: a cluster's servers have one user, one password, and all TLS or none", i+1)
		default:
			s.addrs = append(s.addrs, one.addrs...)
		}
		if i > 0 && (s.database != 0 || one.database != 0) {
			return errors.New("a cluster has no databases to choose from")
		}
	}
	return nil
}

func parse(entry string) (Store, error) {
	u, err := url.Parse(entry) // its error quotes the entry
	if err != nil || u.Opaque != "" {
		return Store{}, errors.New("want redis://host:port or valkey://host:port")
	}
	s := Store{user: u.User.Username()}
	s.pass, _ = u.User.Password()
	switch u.Scheme {
	case "redis", "valkey":
	case "rediss", "valkeys":
		s.tls = true
	default:
		return Store{}, errors.New("want redis, rediss, valkey or valkeys before ://")
	}
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = "6379"
	}
	if host == "" {
		return Store{}, errors.New("there is no host in it")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return Store{}, errors.New("the port must be between 1 and 65535")
	}
	s.addrs = []string{net.JoinHostPort(host, port)}
	if path := strings.Trim(u.Path, "/"); path != "" {
		if s.database, err = strconv.Atoi(path); err != nil || s.database < 0 {
			return Store{}, errors.New("what follows the host must be the number of a database")
		}
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return Store{}, errors.New("it takes no options")
	}
	return s, nil
}

// IsZero reports whether there is none.
func (s Store) IsZero() bool { return len(s.addrs) == 0 }

// String is for the log: where the store is, and no credentials.
func (s Store) String() string { return strings.Join(s.addrs, ",") }

// hide takes the credentials out of a text, for stores quote what they do not like.
func (s Store) hide(text string) string {
	for _, secret := range []string{s.pass, s.user} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}

// dial connects, and returns within about two limits. A client may come with an error,
// too, and is to be closed.
func (s Store) dial(limit time.Duration) (valkey.Client, error) {
	option := valkey.ClientOption{
		InitAddress:         s.addrs,
		ForceSingleClient:   len(s.addrs) == 1,
		Username:            s.user,
		Password:            s.pass,
		SelectDB:            s.database,
		ClientName:          "kiribashiri",
		ClientSetInfo:       []string{}, // older stores do not know it
		Dialer:              net.Dialer{Timeout: limit},
		ConnWriteTimeout:    limit,
		DisableCache:        true,
		PipelineMultiplex:   -1,   // one connection, so that no move opens another one
		DisableRetry:        true, // a move cannot wait for a second try
		ReadBufferEachConn:  bufferBytes,
		WriteBufferEachConn: bufferBytes,
	}
	if s.tls {
		option.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return valkey.NewClient(option)
}

// bufferBytes holds a hundred questions, or a thousand answers.
const bufferBytes = 16 << 10
