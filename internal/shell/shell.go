// Package shell writes words as a POSIX shell reads them.
package shell

import "strings"

// Join writes an argument list so that a shell reads the same list. Words that need
// no quotes have none, for those who read them.
func Join(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = Quote(arg)
	}
	return strings.Join(words, " ")
}

// Quote writes one word so that a shell reads the same word.
func Quote(word string) string {
	if word != "" && !strings.ContainsFunc(word, needsQuotes) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func needsQuotes(r rune) bool {
	plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@%+", r)
	return !plain
}
