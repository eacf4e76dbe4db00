package awsapi

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/smithy-go"

	"github.com/trainyard/trainyard/internal/fault"
)

// Brief says in a few words what an error means, for a row of a table.
func Brief(err error) string {
	code, message := codeOf(err)
	action := actionOf(err)
	switch kind := KindOf(err); kind {
	case Denied:
		return "not permitted: " + action
	case Throttled:
		return "throttled: " + action
	case Late:
		return "no answer in time"
	case Refused:
		return fmt.Sprintf("credentials refused (%s)", code)
	case Server:
		return "AWS's own failure: " + cmp.Or(code, "no reason given") + " of " + action
	case Unreachable:
		return "no connection: " + action
	case Other:
		if code == "" {
			return lastLine(err)
		}
		return code + ": " + message
	default:
		return string(kind)
	}
}

func lastLine(err error) string {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return lines[len(lines)-1]
}

// actionOf is the call that failed as IAM policies name it,
// "ec2:DescribeInstances".
func actionOf(err error) string {
	var op *smithy.OperationError
	if !errors.As(err, &op) {
		return "a call"
	}
	return strings.ToLower(strings.ReplaceAll(op.Service(), " ", "")) + ":" + op.Operation()
}

// Explain attaches to an error what to do about it.
func Explain(err error) error {
	if hint := hintFor(err); hint != "" {
		return fault.WithHint(hint, err)
	}
	return err
}

func hintFor(err error) string {
	switch KindOf(err) {
	case Denied:
		return "have your policy allow " + actionOf(err) + "; docs/iam-policy.json has all that trainyard calls"
	case Expired:
		return "the credentials have expired: aws sso login, or get new ones"
	case Refused:
		return "aws sts get-caller-identity shows whether these credentials are good; AWS_PROFILE chooses others; those for China or GovCloud need AWS_REGION, too"
	case ClockSkew:
		return "set this machine's clock: signatures are good for a few minutes only"
	case Throttled:
		return "too many calls by this account at the moment: try again, with fewer regions"
	case Unreachable, Late:
		return "see that the Internet, or the proxy in HTTPS_PROXY, can be reached from here"
	case Other, NoCredentials, NoProfile, NotOptedIn, NoCapacity, OverQuota, NotFound, Exists, Unsupported, TooManyAsked, Server:
	}
	return ""
}
