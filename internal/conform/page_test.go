package conform

import (
	"strings"
	"testing"

	"kiribashiri/internal/limits"
)

// Where states are sealed, fewer bytes of them fit into a request.
func TestStateThatDoesNotFit(t *testing.T) {
	for _, row := range []struct {
		bytes  int
		sealed bool
		says   string
	}{
		{47_000, false, ""}, {47_000, true, ""}, {60_000, false, ""},
		{60_000, true, "Sealed, a state of 60000 bytes does not fit"},
		{65_000, false, "A state of 65000 bytes does not fit"},
	} {
		state := `"` + strings.Repeat("x", row.bytes-2) + `"`
		got := stuck([]byte(state), &Config{Limits: limits.Default(), Sealed: row.sealed})
		if row.says == "" && got != "" || !strings.HasPrefix(got, row.says) {
			t.Errorf("%d bytes, sealed %v: %q, want %q", row.bytes, row.sealed, got, row.says)
		}
	}
}
