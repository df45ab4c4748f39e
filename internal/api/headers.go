package api

// securityFields go with every answer, errors too: nothing of this site may be
// framed, sniffed, or run anything that is not ours. Strict transport security is
// the proxy's to promise, since it has the certificate.
//
// All answers share the values, which nothing changes, so that they cost a request
// no memory.
var securityFields = []field{
	{"Content-Security-Policy", []string{"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; " +
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"}},
	{"X-Content-Type-Options", []string{"nosniff"}},
	{"Referrer-Policy", []string{"no-referrer"}},
	{"X-Frame-Options", []string{"DENY"}},
	{"Cross-Origin-Opener-Policy", []string{"same-origin"}},
	{"Cross-Origin-Resource-Policy", []string{"same-origin"}},
	// All off but what copying the player's own story needs. Sharing it is allowed to
	// this page by default; naming that makes some browsers complain.
	{"Permissions-Policy", []string{"accelerometer=(), autoplay=(), camera=(), clipboard-read=(), clipboard-write=(self), cross-origin-isolated=(), " +
		"display-capture=(), encrypted-media=(), fullscreen=(), geolocation=(), gyroscope=(), hid=(), idle-detection=(), interest-cohort=(), " +
		"keyboard-map=(), magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), " +
		"screen-wake-lock=(), serial=(), sync-xhr=(), usb=(), xr-spatial-tracking=()"}},
}

// apiPolicy is the content security policy of what is no page: if anything ever
// takes an answer of the API for one, it may do nothing at all.
var apiPolicy = []string{"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"}

// A field is one of an answer's header, its name in the canonical form.
type field struct {
	name  string
	value []string
}

// What else many answers share.
var (
	jsonMedia = []string{"application/json; charset=utf-8"}
	htmlMedia = []string{"text/html; charset=utf-8"}
	textMedia = []string{"text/plain; charset=utf-8"}
	noStore   = []string{"no-store"}
)

// setFields sets what every answer has.
func (x *exchange) setFields() {
	h := x.Header()
	for _, f := range securityFields {
		h[f.name] = f.value
	}
	if x.isAPI() {
		h["Content-Security-Policy"] = apiPolicy
	}
}
