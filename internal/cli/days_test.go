package cli

import (
	"testing"
	"time"
)

func TestDays(t *testing.T) {
	for text, want := range map[string]string{"7d": "7d", "48h": "2d", "90m": "1h30m0s", "d": "", "-1d": "", "1.5d": "", "999999999d": "", "week": "", "7": ""} {
		var d days
		err := d.Set(text)
		if (err == nil) != (want != "") || err == nil && d.String() != want {
			t.Errorf("%q is %s, error %v, want %q", text, d.String(), err, want)
		}
	}
	d := days(24 * time.Hour)
	if d.String() != "1d" {
		t.Errorf("a day is %s", d.String())
	}
}
