package sim

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/trainyard/trainyard/test/awssim/sigv4"
	"github.com/trainyard/trainyard/test/awssim/wire"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// tolerance is how far a signature's time may be from AWS's.
const tolerance = 5 * time.Minute

// credentials are who a request claims to come from.
type credentials struct {
	sigv4.Signature
	account   *world.Account // nil: nobody has the access key
	principal *world.Principal
}

// wallClock is AWS's real time, which signatures are held to.
func (s *Server) wallClock() time.Time {
	var skew world.Duration
	s.World.Locked(func() { skew = s.World.Conditions.Skew })
	return time.Now().Add(time.Duration(skew))
}

// authenticate checks a signature as AWS does, with the errors of each protocol.
func (s *Server) authenticate(r *http.Request, body []byte, service wire.Service, c credentials) error {
	now := s.wallClock()
	switch {
	case c.account == nil || c.SessionToken != c.principal.SessionToken || !s.open(c):
		return refused(service.Protocol, unknownKey, "")
	case !c.principal.Expires.IsZero() && s.World.Clock.Now().After(c.principal.Expires):
		return refused(service.Protocol, expiredToken, "")
	case c.Time.Before(now.Add(-max(tolerance, c.Lasts))):
		return refused(service.Protocol, wrongTime, fmt.Sprintf("Signature expired: %s is now earlier than %s (%s - 5 min.)",
			c.Time.Format(sigv4.TimeFormat), now.Add(-tolerance).UTC().Format(sigv4.TimeFormat), now.UTC().Format(sigv4.TimeFormat)))
	case c.Time.After(now.Add(tolerance)):
		return refused(service.Protocol, wrongTime, fmt.Sprintf("Signature not yet current: %s is still later than %s (%s + 5 min.)",
			c.Time.Format(sigv4.TimeFormat), now.Add(tolerance).UTC().Format(sigv4.TimeFormat), now.UTC().Format(sigv4.TimeFormat)))
	case !c.Valid(r, body, c.principal.Secret()):
		return refused(service.Protocol, wrongSignature, "")
	}
	return nil
}

// open tells whether the account may be used in the region: it is of its
// partition, and enabled.
func (s *Server) open(c credentials) bool {
	region := s.World.Facts.Regions[c.Region]
	return region.Partition == c.account.Partition && c.account.OptInStatus(c.Region, region) != "not-opted-in"
}

type refusal int

const (
	unknownKey refusal = iota
	expiredToken
	wrongTime
	wrongSignature
)

const mismatch = "The request signature we calculated does not match the signature you provided. " +
	"Check your AWS Secret Access Key and signing method. Consult the service documentation for details."

// refusals are the errors, by refusal and protocol; EKS's differ from JSON's in
// their status only.
var refusals = map[refusal]map[wire.Protocol]wire.Error{
	unknownKey: {
		wire.EC2:   {Code: "AuthFailure", Message: "AWS was not able to validate the provided access credentials", Status: http.StatusUnauthorized},
		wire.Query: {Code: "InvalidClientTokenId", Message: "The security token included in the request is invalid.", Status: http.StatusForbidden},
		wire.JSON:  {Code: "UnrecognizedClientException", Message: "The security token included in the request is invalid."},
	},
	expiredToken: {
		wire.EC2:   {Code: "RequestExpired", Message: "Request has expired."},
		wire.Query: {Code: "ExpiredToken", Message: "The security token included in the request is expired", Status: http.StatusForbidden},
		wire.JSON:  {Code: "ExpiredTokenException", Message: "The security token included in the request is expired"},
	},
	wrongTime: {
		wire.EC2:   {Code: "RequestExpired", Message: "Request has expired."},
		wire.Query: {Code: "SignatureDoesNotMatch", Status: http.StatusForbidden},
		wire.JSON:  {Code: "InvalidSignatureException"},
	},
	wrongSignature: {
		wire.EC2:   {Code: "AuthFailure", Message: "AWS was not able to validate the provided access credentials", Status: http.StatusUnauthorized},
		wire.Query: {Code: "SignatureDoesNotMatch", Message: mismatch, Status: http.StatusForbidden},
		wire.JSON:  {Code: "InvalidSignatureException", Message: mismatch},
	},
}

func refused(protocol wire.Protocol, why refusal, message string) error {
	e := refusals[why][protocol]
	if protocol == wire.REST {
		e = refusals[why][wire.JSON]
		e.Status = http.StatusForbidden
	}
	if e.Message == "" {
		e.Message = message
	}
	return &e
}

// unsigned is the answer to a request whose signature cannot be read.
func unsigned(err error) error {
	if errors.Is(err, sigv4.ErrMissing) {
		return &wire.Error{Code: "MissingAuthenticationToken", Message: "Request is missing Authentication Token", Status: http.StatusForbidden}
	}
	return &wire.Error{Code: "IncompleteSignature", Message: err.Error(), Status: http.StatusBadRequest}
}
