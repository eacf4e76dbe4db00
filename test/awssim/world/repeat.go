package world

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"unicode"

	"github.com/trainyard/trainyard/test/awssim/wire"
)

type remembered struct {
	params string
	answer any
}

// maxToken is how long a client token may be: AWS's model says so of each, and
// that it is ASCII.
const maxToken = 64

// Once does what a call with this client token asks for once: the same call
// gets the same answer again, another one with the token is refused.
func Once[Out any](c *Call, token string, do func() (Out, error)) (Out, error) {
	if token == "" {
		return do()
	}
	if len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r > unicode.MaxASCII }) {
		var none Out
		return none, wire.Errorf("InvalidParameterValue", "Value (%s) for parameter clientToken is invalid. Maximum 64 ASCII characters.", token)
	}
	key := strings.Join([]string{c.Region, c.Action(), token}, " ")
	params := fingerprint(c.Request.Params, "ClientToken")
	if before, ok := c.Account.once[key]; ok {
		if before.params != params {
			var none Out
			return none, wire.Errorf("IdempotentParameterMismatch", "The client token %s was used with other parameters", token)
		}
		return before.answer.(Out), nil
	}
	answer, err := do()
	if err == nil {
		c.Account.once[key] = remembered{params, answer}
	}
	return answer, err
}

// fingerprint is the parameters as text, without some.
func fingerprint(params map[string]any, without ...string) string {
	params = maps.Clone(params)
	for _, name := range without {
		delete(params, name)
	}
	text, err := json.Marshal(params) // of sorted keys
	if err != nil {
		panic(fmt.Sprintf("world: writing parameters: %v", err)) // only what wire.Parse made
	}
	return string(text)
}

// Paging is how much of a list is asked for.
type Paging struct {
	MaxResults int
	NextToken  string
}

// Page is the part of a list that is asked for, and the token of the next part.
// The token is good for the same question only.
func Page[T any](c *Call, p Paging, most int, list []T) (page []T, next string, err error) {
	question := sha256.Sum256([]byte(c.Region + c.Action() + fingerprint(c.Request.Params, "NextToken", "nextToken", "MaxResults", "maxResults")))
	seal := func(start int) string {
		return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %x", start, question[:12]))
	}
	start := 0
	if p.NextToken != "" {
		text, _ := base64.RawURLEncoding.DecodeString(p.NextToken) // checked below
		number, _, _ := strings.Cut(string(text), " ")
		start, err = strconv.Atoi(number)
		if err != nil || seal(start) != p.NextToken {
			return nil, "", badToken(c.Request.Service.Protocol)
		}
	}
	size := most
	if p.MaxResults > 0 {
		size = min(p.MaxResults, most)
	}
	start = min(start, len(list))
	end := min(start+size, len(list))
	if end < len(list) {
		next = seal(end)
	}
	return list[start:end], next, nil
}

func badToken(protocol wire.Protocol) error {
	switch protocol {
	case wire.JSON:
		return wire.Errorf("InvalidPaginationTokenException", "Invalid pagination token")
	case wire.REST:
		return wire.Errorf("InvalidParameterException", "The pagination token is invalid")
	default:
		return wire.Errorf("InvalidParameterValue", "Unable to parse pagination token")
	}
}
