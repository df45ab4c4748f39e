package api

import (
	"fmt"
	"net/http"
)

// origins are the other origins whose pages may call the API. Everybody else's
// pages may not even post: a browser says where a request comes from, and what is
// not ours and not listed is refused.
type origins struct {
	listed     map[string]bool
	protection *http.CrossOriginProtection
}

func newOrigins(listed []string) (origins, error) {
	o := origins{make(map[string]bool), http.NewCrossOriginProtection()}
	for _, origin := range listed {
		if err := o.protection.AddTrustedOrigin(origin); err != nil {
			return o, fmt.Errorf("origin %q: %w", origin, err)
		}
		o.listed[origin] = true
	}
	return o, nil
}

// preflightAge is how long, in seconds, a browser may remember that an origin is
// listed; Chromium's own bound.
const preflightAge = "7200"

// admit lets a listed origin's page read the answer, and reports whether the
// request is a preflight, which needs no other answer.
func (o *origins) admit(h http.Header, r *http.Request) (preflight bool) {
	if len(o.listed) == 0 {
		return false
	}
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !o.listed[origin] {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		h.Set("Access-Control-Expose-Headers", "Retry-After, RateLimit, RateLimit-Policy")
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", "Content-Type")
	h.Set("Access-Control-Max-Age", preflightAge)
	return true
}

// protect refuses what a foreign page sends in its visitor's name.
func (o *origins) protect(r *http.Request) error {
	if o.protection.Check(r) != nil {
		return errCrossOrigin
	}
	return nil
}
