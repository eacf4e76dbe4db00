package awsapi

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
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
