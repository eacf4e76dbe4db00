package awsapi

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/trainyard/trainyard/internal/fault"
)

// answered is an error as the SDK returns it.
func answered(service, operation, code, message string, status int) error {
	return &smithy.OperationError{ServiceID: service, OperationName: operation, Err: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}},
		Err:      &smithy.GenericAPIError{Code: code, Message: message},
	}}
}

func TestKindOf(t *testing.T) {
	for _, test := range []struct {
		err   error
		kind  Kind
		brief string
	}{
		{answered("EC2", "DescribeInstances", "UnauthorizedOperation", "no", 403), Denied, "not permitted: ec2:DescribeInstances"},
		{answered("Service Quotas", "GetServiceQuota", "AccessDeniedException", "no", 400), Denied, "not permitted: servicequotas:GetServiceQuota"},
		{answered("EC2", "DescribeInstances", "RequestLimitExceeded", "slow", 503), Throttled, "throttled: ec2:DescribeInstances"},
		{answered("Service Quotas", "GetServiceQuota", "TooManyRequestsException", "slow", 429), Throttled, "throttled: servicequotas:GetServiceQuota"},
		{answered("STS", "GetCallerIdentity", "ExpiredToken", "old", 403), Expired, "expired"},
		{answered("STS", "GetCallerIdentity", "InvalidClientTokenId", "?", 403), Refused, "credentials refused (InvalidClientTokenId)"},
		{answered("STS", "GetCallerIdentity", "SignatureDoesNotMatch", "Signature expired: 20260101T000000Z is now earlier than ...", 403), ClockSkew, "clock skew"},
		{answered("EC2", "DescribeInstances", "RequestExpired", "Request has expired.", 400), ClockSkew, "clock skew"},
		{answered("EC2", "CreateCapacityReservation", "InsufficientInstanceCapacity", "none", 500), NoCapacity, "no capacity"},
		{answered("EC2", "CreateCapacityReservation", "InstanceLimitExceeded", "quota", 400), OverQuota, "over quota"},
		{answered("Service Quotas", "GetServiceQuota", "NoSuchResourceException", "none", 400), NotFound, "not found"},
		{answered("EC2", "DescribeInstances", "InternalError", "oops", 500), Server, "AWS's own failure: InternalError of ec2:DescribeInstances"},
		{answered("EC2", "DescribeInstances", "InvalidParameterValue", "bad", 400), Other, "InvalidParameterValue: bad"},
		{fmt.Errorf("asking: %w", context.DeadlineExceeded), Late, "no answer in time"},
		{fmt.Errorf("asking: %w", context.Canceled), Other, "asking: context canceled"},
	} {
		if kind := KindOf(test.err); kind != test.kind {
			t.Errorf("%v is %q, want %q", test.err, kind, test.kind)
		}
		if brief := Brief(test.err); brief != test.brief {
			t.Errorf("%v in brief: %q, want %q", test.err, brief, test.brief)
		}
	}
}

func TestExplainCredentials(t *testing.T) {
	err := explainCredentials(fmt.Errorf("finding AWS credentials: %w", &ssocreds.InvalidTokenError{}))
	if KindOf(err) != Expired || strings.Join(fault.HintsOf(err), "") != "aws sso login" {
		t.Errorf("an expired session: %q %v, hints %q", KindOf(err), err, fault.HintsOf(err))
	}
	err = explainCredentials(answered("STS", "AssumeRole", "AccessDenied", "no", 403))
	if KindOf(err) != Denied || !strings.Contains(strings.Join(fault.HintsOf(err), ""), "sts:AssumeRole") {
		t.Errorf("a refused role: %q, hints %q", KindOf(err), fault.HintsOf(err))
	}
}

// TestLoad is about what AWS's own environment and files say.
func TestLoad(t *testing.T) {
	isolate := func(t *testing.T, config string) {
		t.Helper()
		dir := t.TempDir()
		writeFile(t, dir+"/config", config)
		for _, name := range []string{"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"} {
			t.Setenv(name, "")
		}
		t.Setenv("HOME", dir)
		t.Setenv("AWS_CONFIG_FILE", dir+"/config")
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", dir+"/credentials")
		t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	}
	t.Run("profile", func(t *testing.T) {
		isolate(t, "[profile work]\nregion = eu-west-1\naws_access_key_id = AKIA\naws_secret_access_key = secret\n")
		s, err := Load(t.Context(), Options{Profile: "work"})
		if err != nil || s.Region != "eu-west-1" {
			t.Errorf("region %v, error %v", s, err)
		}
	})
	for name, test := range map[string]struct {
		config, profile string
		kind            Kind
		hint            string
	}{
		"nothing":          {"", "", NoCredentials, "aws configure"},
		"another profile":  {"[profile work]\n", "works", NoCredentials, "list-profiles"},
		"expired sign-on":  {"[default]\nsso_session = s\nsso_account_id = 111122223333\nsso_role_name = R\n[sso-session s]\nsso_start_url = https://example.com/start\nsso_region = us-east-1\n", "", Expired, "aws sso login"},
		"a broken program": {"[default]\ncredential_process = /nonexistent\n", "", NoCredentials, "aws configure"},
	} {
		t.Run(name, func(t *testing.T) {
			isolate(t, test.config)
			_, err := Load(t.Context(), Options{Profile: test.profile})
			if KindOf(err) != test.kind || !strings.Contains(strings.Join(fault.HintsOf(err), " "), test.hint) {
				t.Errorf("%v is %q with hints %q, want %q with %q", err, KindOf(err), fault.HintsOf(err), test.kind, test.hint)
			}
		})
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
