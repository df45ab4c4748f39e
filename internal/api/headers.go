package api

import (
	"maps"
	"net/http"
)

// securityHeaders go with every answer, errors too: nothing of this site may be
// framed, sniffed, or run anything that is not ours. Strict transport security is
// the proxy's to promise, since it has the certificate.
//
// All answers share the values, which nothing changes, so that they cost a request
// no memory.
var securityHeaders = http.Header{
	"Content-Security-Policy": {"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; " +
		"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
	"X-Content-Type-Options":       {"nosniff"},
	"Referrer-Policy":              {"no-referrer"},
	"X-Frame-Options":              {"DENY"},
	"Cross-Origin-Opener-Policy":   {"same-origin"},
	"Cross-Origin-Resource-Policy": {"same-origin"},
	// All off but what copying the player's own story needs. Sharing it is allowed to
	// this page by default; naming that makes some browsers complain.
	"Permissions-Policy": {"accelerometer=(), autoplay=(), camera=(), clipboard-read=(), clipboard-write=(self), cross-origin-isolated=(), " +
		"display-capture=(), encrypted-media=(), fullscreen=(), geolocation=(), gyroscope=(), hid=(), idle-detection=(), interest-cohort=(), " +
		"keyboard-map=(), magnetometer=(), microphone=(), midi=(), payment=(), picture-in-picture=(), publickey-credentials-get=(), " +
		"screen-wake-lock=(), serial=(), sync-xhr=(), usb=(), xr-spatial-tracking=()"},
}

// apiPolicy is the content security policy of what is no page: if anything ever
// takes an answer of the API for one, it may do nothing at all.
var apiPolicy = []string{"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"}

func setSecurityHeaders(h http.Header, r *http.Request) {
	maps.Copy(h, securityHeaders)
	if isAPI(r) {
		h["Content-Security-Policy"] = apiPolicy
	}
}
