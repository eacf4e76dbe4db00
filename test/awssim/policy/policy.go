// Package policy evaluates IAM policy documents: statements with actions,
// resources and conditions, where an explicit Deny wins and what nothing allows
// is denied.
package policy

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Document is an IAM policy.
type Document struct {
	Version    string     `json:"Version"`
	ID         string     `json:"Id,omitempty"`
	Statements Statements `json:"Statement"`
}

// Statements is one statement or a list of them.
type Statements []Statement

// Statement allows or denies.
type Statement struct {
	SID         string    `json:"Sid,omitempty"`
	Effect      string    `json:"Effect"`
	Action      Texts     `json:"Action,omitempty"`
	NotAction   Texts     `json:"NotAction,omitempty"`
	Resource    Texts     `json:"Resource,omitempty"`
	NotResource Texts     `json:"NotResource,omitempty"`
	Condition   Condition `json:"Condition,omitempty"`
}

// Condition is operator, then key, then values: all operators and keys must
// hold, and of the values one.
type Condition map[string]map[string]Texts

// Texts is one text or a list of them.
type Texts []string

// UnmarshalJSON reads "a", true, 1 or a list of those.
func (t *Texts) UnmarshalJSON(data []byte) error {
	var many []any
	if err := json.Unmarshal(data, &many); err != nil {
		var one any
		if err := json.Unmarshal(data, &one); err != nil {
			return err
		}
		many = []any{one}
	}
	for _, value := range many {
		*t = append(*t, fmt.Sprint(value))
	}
	return nil
}

// UnmarshalJSON reads a statement or a list of them.
func (s *Statements) UnmarshalJSON(data []byte) error {
	var many []Statement
	if err := json.Unmarshal(data, &many); err == nil {
		*s = many
		return nil
	}
	var one Statement
	if err := json.Unmarshal(data, &one); err != nil {
		return err
	}
	*s = Statements{one}
	return nil
}

// Parse reads a document and refuses what Evaluate could not judge.
func Parse(text []byte) (Document, error) {
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("reading a policy document: %w", err)
	}
	for i, s := range d.Statements {
		if err := s.check(); err != nil {
			return d, fmt.Errorf("statement %d of the policy: %w", i+1, err)
		}
	}
	return d, nil
}

func (s Statement) check() error {
	switch {
	case s.Effect != "Allow" && s.Effect != "Deny":
		return fmt.Errorf("the effect is %q, neither Allow nor Deny", s.Effect)
	case (len(s.Action) == 0) == (len(s.NotAction) == 0):
		return fmt.Errorf("it needs either Action or NotAction")
	case (len(s.Resource) == 0) == (len(s.NotResource) == 0):
		return fmt.Errorf("it needs either Resource or NotResource")
	}
	for operator := range s.Condition {
		if _, ok := operators[bareOperator(operator)]; !ok {
			return fmt.Errorf("awssim does not know the condition operator %q", operator)
		}
	}
	return nil
}

// Query is one thing that somebody wants to do.
type Query struct {
	Action   string              // "ec2:RunInstances"
	Resource string              // an ARN, or "*"
	Context  map[string][]string // condition keys, "aws:RequestedRegion", with their values
}

// Decision is what policies say of a query.
type Decision int

// The decisions, the weakest first.
const (
	Implicit Decision = iota // nothing allows it
	Allowed
	Denied // a statement denies it
)

// Evaluate says what the documents together decide.
func Evaluate(documents []Document, q Query) Decision {
	decision := Implicit
	for _, d := range documents {
		for _, s := range d.Statements {
			switch {
			case !s.applies(q):
			case s.Effect == "Deny":
				return Denied
			default:
				decision = Allowed
			}
		}
	}
	return decision
}

func (s Statement) applies(q Query) bool {
	action := matchAny(s.Action, q.Action, true) || len(s.NotAction) > 0 && !matchAny(s.NotAction, q.Action, true)
	resource := matchAny(s.Resource, q.Resource, false) || len(s.NotResource) > 0 && !matchAny(s.NotResource, q.Resource, false)
	return action && resource && s.Condition.hold(q.Context)
}

func matchAny(patterns []string, text string, fold bool) bool {
	for _, pattern := range patterns {
		if fold {
			pattern, text = strings.ToLower(pattern), strings.ToLower(text)
		}
		if Match(pattern, text) {
			return true
		}
	}
	return false
}

// Match tells whether the text fits the pattern, in which * stands for any
// text and ? for one character.
func Match(pattern, text string) bool {
	star, retry := -1, 0
	p := 0
	for t := 0; t < len(text); {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, retry = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p++
			t++
		case star >= 0:
			retry++
			p, t = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
