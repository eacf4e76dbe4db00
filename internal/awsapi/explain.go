package awsapi

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/smithy-go"

	"github.com/trainyard/trainyard/internal/fault"
)

// credentialsError says that there are no credentials to sign with.
type credentialsError struct {
	kind Kind
	err  error
}

func (e *credentialsError) Error() string { return e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }

// explainCredentials says of an error before the first call what is wrong.
func explainCredentials(err error) error {
	var noProfile config.SharedConfigProfileNotExistError
	var sso *ssocreds.InvalidTokenError
	text := err.Error()
	switch {
	case errors.As(err, &noProfile):
		return fault.WithHint("aws configure list-profiles lists those there are; aws configure sso makes one",
			&credentialsError{NoCredentials, fmt.Errorf("reading AWS's configuration: there is no profile %q", noProfile.Profile)})
	case errors.As(err, &sso), strings.Contains(text, "cached SSO token"), strings.Contains(text, "SSO session has expired"):
		return fault.WithHint("aws sso login", &credentialsError{Expired, errors.New("finding AWS credentials: the single sign-on session has expired")})
	case isCall(err): // a service that gives credentials has answered, such as STS for a role
		return Explain(err)
	}
	return fault.WithHint("aws configure sso, or aws configure, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
		&credentialsError{NoCredentials, errors.New("finding AWS credentials: there are none in the environment, in ~/.aws, or of an instance's role")})
}

func isCall(err error) bool {
	code, _ := codeOf(err)
	return code != ""
}

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
	case Other, NoCredentials, NotOptedIn, NoCapacity, OverQuota, NotFound, Unsupported, TooManyAsked, Server:
	}
	return ""
}
