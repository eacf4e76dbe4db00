package awsapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
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

// retrieve fetches the credentials, so that what is wrong with them is known
// before anything is asked. profile is the one that was asked for, or "".
func retrieve(ctx context.Context, from aws.CredentialsProvider, profile string) error {
	err := errNone
	if from != nil {
		err = fetch(ctx, from)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return Explain(fmt.Errorf("finding AWS credentials: %w", ctx.Err()))
	case isSignedOut(err):
		return fault.WithHint(loginCommand(profile), &credentialsError{Expired, fmt.Errorf(
			"finding AWS credentials: there is no single sign-on session, or it has expired: %w", err)})
	case errors.Is(err, errNone) || isWithoutRole(err):
		if err := brokenLine(); err != nil {
			return fmt.Errorf("finding AWS credentials: %w", err)
		}
		return fault.WithHint("aws configure sso, or aws configure, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
			&credentialsError{NoCredentials, errors.New("finding AWS credentials: there are none in the environment, in ~/.aws, or of an instance's role")})
	}
	return Explain(fmt.Errorf("finding AWS credentials: %w", err))
}

// fetch does not wait longer than its context for a program that has credentials.
func fetch(ctx context.Context, from aws.CredentialsProvider) error {
	fetched := make(chan error, 1)
	go func() {
		_, err := from.Retrieve(ctx)
		fetched <- err
	}()
	select {
	case err := <-fetched:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errNone = errors.New("there are none")

// explainConfig says of an error of AWS's own files and environment what is wrong.
func explainConfig(ctx context.Context, err error) error {
	var noProfile config.SharedConfigProfileNotExistError
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case errors.As(err, &noProfile):
		return fault.WithHint("aws configure list-profiles lists those there are; aws configure sso makes one",
			&credentialsError{NoProfile, fmt.Errorf("reading AWS's configuration: there is no profile %q", noProfile.Profile)})
	}
	return Explain(fmt.Errorf("reading AWS's configuration: %w", err))
}

// brokenLine is the first line of AWS's own files that is no section, setting or
// comment. The SDK passes over such lines as if they were not there.
func brokenLine() error {
	env, _ := config.NewEnvConfig() // what is wrong with it was said when the SDK read it
	for _, name := range []string{
		cmp.Or(env.SharedConfigFile, config.DefaultSharedConfigFilename()),
		cmp.Or(env.SharedCredentialsFile, config.DefaultSharedCredentialsFilename()),
	} {
		text, _ := os.ReadFile(name) //nolint:gosec // the user's own; one that cannot be read says nothing
		for n, line := range strings.Split(string(text), "\n") {
			line = strings.TrimSpace(line)
			section := strings.HasPrefix(line, "[") && strings.Contains(line, "]")
			if line != "" && !section && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, ";") && (line[0] == '[' || !strings.Contains(line, "=")) {
				return fmt.Errorf("line %d of %s is not understood", n+1, name) // which may be a secret
			}
		}
	}
	return nil
}

// isWithoutRole tells whether the last of all places was asked in vain, the
// metadata of an instance: there is none, or the instance has no role.
func isWithoutRole(err error) bool {
	var op *smithy.OperationError
	status := statusOf(err)
	return errors.As(err, &op) && op.Service() == "ec2imds" && (status == 0 || status == http.StatusNotFound)
}

// isSignedOut tells whether single sign-on has no session, or one that its server
// does not take, so that only signing on again helps.
func isSignedOut(err error) bool {
	var invalid *ssocreds.InvalidTokenError
	var op *smithy.OperationError
	switch {
	case errors.As(err, &invalid):
		return true
	case !errors.As(err, &op): // the SDK has no types for these
		return strings.Contains(err.Error(), "cached SSO token")
	case op.Service() == "SSO OIDC":
		return statusOf(err) == http.StatusBadRequest || statusOf(err) == http.StatusUnauthorized
	default:
		return op.Service() == "SSO" && statusOf(err) == http.StatusUnauthorized
	}
}

// loginCommand signs on to the session of the profile.
func loginCommand(profile string) string {
	env, _ := config.NewEnvConfig() // what is wrong with it was said when the SDK read it
	if profile = cmp.Or(profile, env.SharedConfigProfile); profile != "" {
		return "aws sso login --profile " + profile
	}
	return "aws sso login"
}
