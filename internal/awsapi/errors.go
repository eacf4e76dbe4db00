package awsapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
)

// Kind is what an error of AWS's means.
type Kind string

// The kinds of errors.
const (
	Other         Kind = ""               // anything else
	Denied        Kind = "denied"         // a policy does not allow the call
	Throttled     Kind = "throttled"      // too many calls, also after all retries
	Expired       Kind = "expired"        // credentials that were good once
	NoCredentials Kind = "no credentials" // none were found
	NoProfile     Kind = "no profile"     // AWS's configuration has none of this name
	Refused       Kind = "refused"        // credentials that AWS does not know
	ClockSkew     Kind = "clock skew"     // the clock here and AWS's differ too much
	NotOptedIn    Kind = "not opted in"   // the account has not enabled the region
	NoCapacity    Kind = "no capacity"    // AWS has not got it in stock
	OverQuota     Kind = "over quota"     // the account's quota does not allow it
	NotFound      Kind = "not found"      // there is no such thing
	Exists        Kind = "exists"         // there is such a thing already
	Unsupported   Kind = "unsupported"    // there is, but not here
	TooManyAsked  Kind = "too many asked" // AWS limits how many different questions it answers a day
	Late          Kind = "late"           // no answer in time
	Unreachable   Kind = "unreachable"    // no connection, or one that broke
	Server        Kind = "server error"   // AWS's own failure
)

// codes are AWS's error codes by kind. Sources: the error code pages of EC2,
// STS, Service Quotas and EKS. A code that ends in * stands for all that
// begin like it.
var codes = []struct {
	kind  Kind
	codes []string
}{
	{ClockSkew, []string{"RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture"}},
	{Expired, []string{"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"}},
	{NotOptedIn, []string{"OptInRequired", "RegionDisabledException"}},
	{Denied, []string{"UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "NotAuthorized", "Client.UnauthorizedOperation", "ForbiddenException"}},
	{Refused, []string{"AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException", "InvalidSignatureException", "SignatureDoesNotMatch", "MissingAuthenticationToken", "IncompleteSignature"}},
	{NoCapacity, []string{"InsufficientInstanceCapacity", "InsufficientCapacity", "InsufficientHostCapacity", "InsufficientReservedInstanceCapacity", "InsufficientCapacityOnHost"}},
	{OverQuota, []string{"VcpuLimitExceeded", "InstanceLimitExceeded", "ReservedInstancesLimitExceeded", "MaxSpotInstanceCountExceeded", "CapacityReservationLimitExceeded", "ResourceCountExceeded"}},
	{TooManyAsked, []string{"MaxConfigLimitExceeded", "MaxConfigLimitExceededException"}},
	{Unsupported, []string{"Unsupported", "UnsupportedOperation", "UnsupportedInstanceType", "InvalidInstanceType"}},
	{Exists, []string{"ResourceAlreadyExistsException"}},
	{NotFound, []string{"NoSuchResourceException", "ResourceNotFoundException", "InvalidCapacityReservationId.NotFound", "InvalidInstanceID.NotFound"}},
}

// KindOf says what an error means.
func KindOf(err error) Kind {
	var missing *credentialsError
	switch {
	case err == nil:
		return Other
	case errors.As(err, &missing):
		return missing.kind
	}
	if code, message := codeOf(err); code != "" {
		return kindOfCode(code, message, err)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Late
	case errors.Is(err, context.Canceled):
		return Other
	case statusOf(err) >= http.StatusInternalServerError:
		return Server
	case isTransport(err):
		return Unreachable
	}
	return Other
}

func kindOfCode(code, message string, err error) Kind {
	for _, row := range codes {
		if slices.Contains(row.codes, code) {
			if row.kind == Refused && isAboutTime(message) {
				return ClockSkew
			}
			return row.kind
		}
	}
	if _, throttled := retry.DefaultThrottleErrorCodes[code]; throttled {
		return Throttled
	}
	if statusOf(err) >= http.StatusInternalServerError {
		return Server
	}
	return Other
}

// isAboutTime knows a refused signature that is too old or not yet valid, which
// some services give no code of its own.
func isAboutTime(message string) bool {
	return strings.Contains(message, "Signature expired") || strings.Contains(message, "Signature not yet current")
}

func codeOf(err error) (code, message string) {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode(), api.ErrorMessage()
	}
	return "", ""
}

func statusOf(err error) int {
	var response interface{ HTTPStatusCode() int }
	if errors.As(err, &response) {
		return response.HTTPStatusCode()
	}
	return 0
}

func isTransport(err error) bool {
	var failed interface{ ConnectionError() bool }
	if errors.As(err, &failed) {
		return failed.ConnectionError()
	}
	var op *net.OpError
	var request *url.Error
	return errors.As(err, &op) || errors.As(err, &request)
}
