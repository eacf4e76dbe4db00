package ec2

import (
	"hash/fnv"
	"strings"
)

// dice is a number that looks like chance and is always the same.
func dice(texts ...string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Join(texts, "\n"))) // never fails
	return int(h.Sum32() >> 1)
}
