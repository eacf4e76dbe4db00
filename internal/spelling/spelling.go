// Package spelling finds the name that somebody meant who wrote another one.
package spelling

// Nearest returns the name that differs least from word, or "" where none is
// near: more than one letter in three would have to change. Of names that are
// equally near the first wins.
func Nearest(word string, names []string) string {
	best, match := len(word)/3+1, ""
	for _, name := range names {
		if d := Distance(word, name); d < best {
			best, match = d, name
		}
	}
	return match
}

// Distance is the number of insertions, deletions, replacements and swaps of
// neighbours that turn a into b (optimal string alignment), in bytes.
func Distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differ(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

func differ(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}
