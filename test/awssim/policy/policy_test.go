package policy

import (
	"fmt"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"*", "", true},
		{"", "", true},
		{"", "a", false},
		{"a*c", "abbc", true},
		{"a*c", "abb", false},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"ec2:Describe*", "ec2:DescribeVpcs", true},
		{"*b*d*", "abcde", true},
		{"*b*d", "abcde", false},
		{"**", "x", true},
	} {
		if got := Match(test.pattern, test.text); got != test.want {
			t.Errorf("Match(%q, %q) is %v", test.pattern, test.text, got)
		}
	}
}

func statement(effect, rest string) string {
	return fmt.Sprintf(`{"Effect": %q, %s}`, effect, rest)
}

func TestEvaluate(t *testing.T) {
	const resource = "arn:aws:ec2:us-east-1:111122223333:vpc/vpc-1"
	query := Query{Action: "ec2:DeleteVpc", Resource: resource, Context: map[string][]string{
		"aws:RequestedRegion": {"us-east-1"}, "aws:ResourceTag/owner": {"me"}, "aws:TagKeys": {"owner", "run"}, "ec2:Count": {"3"},
	}}
	when := func(operator, key, value string) string {
		return statement("Allow", fmt.Sprintf(`"Action": "ec2:*", "Resource": "*", "Condition": {%q: {%q: %s}}`, operator, key, value))
	}
	for name, test := range map[string]struct {
		statements string
		want       Decision
	}{
		"nothing":             {`[]`, Implicit},
		"allowed":             {statement("Allow", `"Action": "ec2:DeleteVpc", "Resource": "*"`), Allowed},
		"action in any case":  {statement("Allow", `"Action": "EC2:deletevpc", "Resource": "*"`), Allowed},
		"other action":        {statement("Allow", `"Action": "ec2:CreateVpc", "Resource": "*"`), Implicit},
		"not action":          {statement("Allow", `"NotAction": "ec2:Create*", "Resource": "*"`), Allowed},
		"but not this":        {statement("Allow", `"NotAction": "ec2:Delete*", "Resource": "*"`), Implicit},
		"resource":            {statement("Allow", `"Action": "*", "Resource": ["x", "arn:aws:ec2:*:111122223333:vpc/*"]`), Allowed},
		"other resource":      {statement("Allow", `"Action": "*", "Resource": "arn:aws:ec2:*:*:subnet/*"`), Implicit},
		"resource's case":     {statement("Allow", `"Action": "*", "Resource": "arn:aws:ec2:*:*:VPC/*"`), Implicit},
		"not resource":        {statement("Allow", `"Action": "*", "NotResource": "arn:aws:ec2:*:*:subnet/*"`), Allowed},
		"deny wins":           {`[` + statement("Allow", `"Action": "*", "Resource": "*"`) + `,` + statement("Deny", `"Action": "ec2:Delete*", "Resource": "*"`) + `]`, Denied},
		"region":              {when("StringEquals", "aws:RequestedRegion", `["eu-west-1", "us-east-1"]`), Allowed},
		"other region":        {when("StringEquals", "aws:RequestedRegion", `"eu-west-1"`), Implicit},
		"key in any case":     {when("StringEquals", "AWS:requestedregion", `"us-east-1"`), Allowed},
		"tag":                 {when("StringEquals", "aws:ResourceTag/owner", `"me"`), Allowed},
		"tag's case":          {when("StringEquals", "aws:ResourceTag/Owner", `"me"`), Implicit},
		"like":                {when("StringLike", "aws:ResourceTag/owner", `"m*"`), Allowed},
		"not equals":          {when("StringNotEquals", "aws:ResourceTag/owner", `"you"`), Allowed},
		"not equals but is":   {when("StringNotEquals", "aws:ResourceTag/owner", `"me"`), Implicit},
		"not equals, no key":  {when("StringNotEquals", "aws:ResourceTag/none", `"me"`), Allowed},
		"equals, no key":      {when("StringEquals", "aws:ResourceTag/none", `"me"`), Implicit},
		"if exists":           {when("StringEqualsIfExists", "aws:ResourceTag/none", `"me"`), Allowed},
		"null":                {when("Null", "aws:ResourceTag/owner", `"false"`), Allowed},
		"null but is not":     {when("Null", "aws:ResourceTag/owner", `"true"`), Implicit},
		"any value":           {when("ForAnyValue:StringEquals", "aws:TagKeys", `"run"`), Allowed},
		"all values":          {when("ForAllValues:StringEquals", "aws:TagKeys", `["owner", "run"]`), Allowed},
		"not all values":      {when("ForAllValues:StringEquals", "aws:TagKeys", `"run"`), Implicit},
		"all values, no keys": {when("ForAllValues:StringEquals", "aws:None", `"run"`), Allowed},
		"number":              {when("NumericLessThanEquals", "ec2:Count", `3`), Allowed},
		"number too large":    {when("NumericLessThan", "ec2:Count", `3`), Implicit},
	} {
		d, err := Parse([]byte(`{"Version": "2012-10-17", "Statement": ` + test.statements + `}`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := Evaluate([]Document{d}, query); got != test.want {
			t.Errorf("%s: got decision %d, want %d", name, got, test.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{
		`{`, `{"Statement": {"Effect": "allow", "Action": "*", "Resource": "*"}}`, `{"Statement": {"Effect": "Allow", "Resource": "*"}}`,
		`{"Statement": {"Effect": "Allow", "Action": "*"}}`, `{"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": {"StringIs": {"a": "b"}}}}`,
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}
