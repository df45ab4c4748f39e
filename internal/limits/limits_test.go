package limits

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestDefaultsAreValidAndComplete(t *testing.T) {
	l := Default()
	if mistakes := l.Mistakes(); len(mistakes) != 0 {
		t.Errorf("Default().Mistakes() = %v, want none", mistakes)
	}
	v := reflect.ValueOf(l)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("Default() leaves %s at zero, so it bounds nothing", v.Type().Field(i).Name)
		}
	}
}

func TestContractDefaults(t *testing.T) {
	l := Default()
	for _, row := range []struct {
		name      string
		got, want any
	}{
		{"tokens a second", l.PerIPPerSec, 2.0},
		{"burst", l.PerIPBurst, 2.0},
		{"queue", l.Queue, 32},
		{"reply limit", l.SimReply, 30 * time.Second},
		{"body", l.BodyBytes, int64(65536)},
		{"input", l.InputChars, 200},
		{"clients", l.Clients, 1_000_000},
		{"engines", l.SimEngines, 1},
		{"browserId", l.BrowserIDChars, 64},
		{"depth", l.Depth, 64},
		{"reply line", l.ReplyBytes, 1 << 20},
	} {
		if row.got != row.want {
			t.Errorf("%s = %v, want %v", row.name, row.got, row.want)
		}
	}
}

// Each row breaks one value; the mistake must name its variable.
func TestMistakesNameTheVariable(t *testing.T) {
	for _, row := range []struct {
		variable string
		spoil    func(*Limits)
	}{
		{"KIRI_PER_IP_PER_SEC", func(l *Limits) { l.PerIPPerSec = 0 }},
		{"KIRI_PER_IP_PER_SEC", func(l *Limits) { l.PerIPPerSec = math.NaN() }},
		{"KIRI_PER_IP_PER_SEC", func(l *Limits) { l.PerIPPerSec = math.Inf(1) }},
		{"KIRI_PER_IP_BURST", func(l *Limits) { l.PerIPBurst = 0.5 }},
		{"KIRI_PER_IP_BURST", func(l *Limits) { l.PerIPBurst = math.NaN() }},
		{"KIRI_CLIENTS", func(l *Limits) { l.Clients = 0 }},
		{"KIRI_BODY_BYTES", func(l *Limits) { l.BodyBytes = -1 }},
		{"KIRI_INPUT_CHARS", func(l *Limits) { l.InputChars = 0 }},
		{"KIRI_QUEUE", func(l *Limits) { l.Queue = 0 }},
		{"KIRI_SIM_ENGINES", func(l *Limits) { l.SimEngines = 0 }},
		{"KIRI_SIM_REPLY", func(l *Limits) { l.SimReply = 0 }},
	} {
		l := Default()
		row.spoil(&l)
		mistakes := l.Mistakes()
		if len(mistakes) != 1 || !strings.HasPrefix(mistakes[0].Error(), row.variable+": ") {
			t.Errorf("Mistakes() = %v, want one that begins with %s", mistakes, row.variable)
		}
	}
	var all Limits
	if got := len(all.Mistakes()); got != 8 {
		t.Errorf("the zero Limits has %d mistakes, want all 8 at once", got)
	}
}
