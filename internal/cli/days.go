package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// days is a flag's time that may be written in days, "7d", besides as Go does.
type days time.Duration

func (d *days) String() string {
	if n := time.Duration(*d); n%(24*time.Hour) != 0 {
		return n.String()
	}
	return fmt.Sprintf("%dd", time.Duration(*d)/(24*time.Hour))
}

// Set reads a time.
func (d *days) Set(text string) error {
	if number, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || n > 366 {
			return fmt.Errorf("%q is no number of days", number)
		}
		*d = days(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no time, such as 7d or 48h", text)
	}
	*d = days(length)
	return nil
}

// Type names it in help.
func (d *days) Type() string { return "TIME" }
