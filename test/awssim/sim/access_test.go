package sim_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/trainyard/trainyard/test/awssim/sim"
	"github.com/trainyard/trainyard/test/awssim/world"
)

// errorsOf asks EC2, STS, Service Quotas and EKS, and returns the codes.
func errorsOf(t *testing.T, cfg aws.Config) []string {
	t.Helper()
	_, ofEC2 := ec2.NewFromConfig(cfg).DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	_, ofSTS := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	_, ofQuotas := servicequotas.NewFromConfig(cfg).ListServiceQuotas(t.Context(), &servicequotas.ListServiceQuotasInput{ServiceCode: aws.String("ec2")})
	_, ofEKS := eks.NewFromConfig(cfg).ListClusters(t.Context(), &eks.ListClustersInput{})
	return []string{code(ofEC2), code(ofSTS), code(ofQuotas), code(ofEKS)}
}

func TestSignatures(t *testing.T) {
	s := sim.Start(t, frozen())
	unknown := []string{"AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException", "UnrecognizedClientException"}
	for name, test := range map[string]struct {
		key, secret, token, region string
		skew                       time.Duration
		want                       []string
	}{
		"right":           {want: []string{"", "", "", ""}},
		"unknown key":     {key: "AKIANOBODY", want: unknown},
		"unknown token":   {token: "x", want: unknown},
		"region not open": {region: "eu-south-1", want: unknown},
		"other partition": {region: "us-gov-west-1", want: unknown},
		"no such region":  {region: "us-esat-1", want: []string{"no answer", "no answer", "no answer", "no answer"}},
		"wrong secret":    {secret: "x", want: []string{"AuthFailure", "SignatureDoesNotMatch", "InvalidSignatureException", "InvalidSignatureException"}},
		"clock too late":  {skew: 6 * time.Minute, want: []string{"RequestExpired", "SignatureDoesNotMatch", "InvalidSignatureException", "InvalidSignatureException"}},
		"clock too early": {skew: -6 * time.Minute, want: []string{"RequestExpired", "SignatureDoesNotMatch", "InvalidSignatureException", "InvalidSignatureException"}},
		"clock near":      {skew: 4 * time.Minute, want: []string{"", "", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			s.World.SetConditions(world.Conditions{Skew: world.Duration(test.skew)})
			or := func(a, b string) string {
				if a == "" {
					return b
				}
				return a
			}
			cfg := config(s, or(test.region, "us-east-1"), or(test.key, world.DefaultKey), or(test.secret, world.DefaultSecret), test.token)
			if got := errorsOf(t, cfg); !slices.Equal(got, test.want) {
				t.Errorf("EC2, STS, Service Quotas and EKS answered %q, want %q", got, test.want)
			}
		})
	}
}

func TestSDKCorrectsItsClock(t *testing.T) {
	s := sim.Start(t, frozen(func(seed *world.Seed) { seed.Conditions.Skew = world.Duration(time.Hour) }))
	cfg := admin(s, "us-east-1")
	cfg.Retryer = nil
	_, err := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	noError(t, err)
	if calls := s.Calls(); len(calls) != 2 || calls[0].Outcome != "SignatureDoesNotMatch" || calls[1].Outcome != "ok" {
		t.Errorf("the calls were %+v", calls)
	}
	// EC2's error of this is none that the SDK tries again, but it learns from it.
	c := ec2.NewFromConfig(cfg)
	_, err = c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	wantCode(t, err, "RequestExpired")
	_, err = c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	noError(t, err)
}

// A presigned request is how a token of EKS says who its bearer is.
func TestPresigned(t *testing.T) {
	s := sim.Start(t, frozen())
	request, err := sts.NewPresignClient(sts.NewFromConfig(admin(s, "us-east-1"))).PresignGetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	noError(t, err)
	for url, want := range map[string]int{request.URL: http.StatusOK, request.URL + "0": http.StatusForbidden} {
		answer, err := http.Get(url)
		noError(t, err)
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: got %s, want %d", url, answer.Status, want)
		}
	}
}

func TestUnsigned(t *testing.T) {
	s := sim.Start(t, frozen())
	answer, err := http.Post(s.URL, "application/x-www-form-urlencoded", strings.NewReader("Action=DescribeVpcs&Version=2016-11-15"))
	noError(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("without a signature the status is %s", answer.Status)
	}
}

// A parameter that the action does not have is an error, and not passed over.
func TestParameterOfAnotherAction(t *testing.T) {
	c := ec2.NewFromConfig(admin(sim.Start(t, frozen()), "us-west-2"))
	more := func(o *ec2.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Build.Add(middleware.BuildMiddlewareFunc("more", func(ctx context.Context, in middleware.BuildInput, next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
				request := in.Request.(*smithyhttp.Request)
				body, err := io.ReadAll(request.GetStream())
				noError(t, err)
				in.Request, err = request.SetStream(strings.NewReader(string(body) + "&GatewayId=igw-1"))
				noError(t, err)
				return next.HandleBuild(ctx, in)
			}), middleware.Before)
		})
	}
	_, err := c.DeleteRoute(t.Context(), &ec2.DeleteRouteInput{RouteTableId: aws.String("rtb-1"), DestinationCidrBlock: aws.String("0.0.0.0/0")}, more)
	wantCode(t, err, "UnknownParameter")
}

func TestAssumeRole(t *testing.T) {
	s := sim.Start(t, frozen())
	out, err := sts.NewFromConfig(admin(s, "us-east-1")).AssumeRole(t.Context(), &sts.AssumeRoleInput{
		RoleArn: aws.String("arn:aws:iam::111122223333:role/Admin"), RoleSessionName: aws.String("test"),
	})
	noError(t, err)
	cfg := config(s, "us-east-1", *out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken)
	me, err := sts.NewFromConfig(cfg).GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	noError(t, err)
	if want := "arn:aws:sts::111122223333:assumed-role/Admin/test"; *me.Arn != want {
		t.Errorf("I am %s, want %s", *me.Arn, want)
	}
	s.World.Clock.Advance(2 * time.Hour)
	if got, want := errorsOf(t, cfg), []string{"RequestExpired", "ExpiredToken", "ExpiredTokenException", "ExpiredTokenException"}; !slices.Equal(got, want) {
		t.Errorf("after two hours the answers are %q, want %q", got, want)
	}
}

const onlyTagged = `{"Version": "2012-10-17", "Statement": [
	{"Effect": "Allow", "Action": ["ec2:Describe*", "servicequotas:*"], "Resource": "*", "Condition": {"StringEquals": {"aws:RequestedRegion": "us-east-1"}}},
	{"Effect": "Allow", "Action": "ec2:CreateCapacityReservation", "Resource": "arn:aws:ec2:*:*:capacity-reservation/*", "Condition": {"StringEquals": {"aws:RequestTag/owner": "me"}}},
	{"Effect": "Allow", "Action": "ec2:CreateTags", "Resource": "*", "Condition": {"StringEquals": {"ec2:CreateAction": "CreateCapacityReservation"}}},
	{"Effect": "Allow", "Action": "ec2:CancelCapacityReservation", "Resource": "*", "Condition": {"StringEquals": {"aws:ResourceTag/owner": "me"}}},
	{"Effect": "Deny", "Action": "ec2:DescribeSubnets", "Resource": "*"}]}`

func TestPolicyIsEvaluated(t *testing.T) {
	seed := frozen(account(func(a *world.AccountSeed) {
		a.Keys = append(a.Keys, world.Key{AccessKey: "AKIALEAST", Secret: "s", User: "least", Policy: json.RawMessage(onlyTagged)})
	}))
	s := sim.Start(t, seed)
	cfg := config(s, "us-east-1", "AKIALEAST", "s", "")
	least, all := ec2.NewFromConfig(cfg), ec2.NewFromConfig(admin(s, "us-east-1"))
	if got, want := errorsOf(t, cfg), []string{"", "", "", "AccessDeniedException"}; !slices.Equal(got, want) {
		t.Errorf("the answers are %q, want %q", got, want)
	}
	if got, want := errorsOf(t, config(s, "us-west-2", "AKIALEAST", "s", "")), []string{"UnauthorizedOperation", "", "AccessDeniedException", "AccessDeniedException"}; !slices.Equal(got, want) {
		t.Errorf("in another region the answers are %q, want %q", got, want)
	}
	_, err := least.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	wantCode(t, err, "UnauthorizedOperation")
	if !strings.Contains(err.Error(), "explicit deny") {
		t.Errorf("the error does not say why: %v", err)
	}

	_, err = reserve(least, "us-east-1d", 1)
	wantCode(t, err, "UnauthorizedOperation")
	mine, err := reserve(least, "us-east-1d", 1, func(in *ec2.CreateCapacityReservationInput) {
		in.TagSpecifications = []types.TagSpecification{{ResourceType: "capacity-reservation", Tags: []types.Tag{{Key: aws.String("owner"), Value: aws.String("me")}}}}
	})
	noError(t, err)
	others, err := reserve(all, "us-east-1d", 1)
	noError(t, err)
	_, err = least.CancelCapacityReservation(t.Context(), &ec2.CancelCapacityReservationInput{CapacityReservationId: others.CapacityReservationId})
	wantCode(t, err, "UnauthorizedOperation")
	_, err = least.CancelCapacityReservation(t.Context(), &ec2.CancelCapacityReservationInput{CapacityReservationId: mine.CapacityReservationId})
	noError(t, err)
	_, err = least.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{*others.CapacityReservationId}, Tags: []types.Tag{{Key: aws.String("owner"), Value: aws.String("me")}}})
	wantCode(t, err, "UnauthorizedOperation")

	var asked []string
	for _, call := range s.Calls() {
		for _, check := range call.Checks {
			asked = append(asked, check.Action)
		}
	}
	for _, action := range []string{"ec2:CreateCapacityReservation", "ec2:CreateTags", "ec2:CancelCapacityReservation", "eks:ListClusters"} {
		if !slices.Contains(asked, action) {
			t.Errorf("no call was recorded with the permission %s", action)
		}
	}
}

func TestServiceControlPolicy(t *testing.T) {
	s := sim.Start(t, frozen(account(func(a *world.AccountSeed) {
		a.ServiceControl = json.RawMessage(`{"Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}, {"Effect": "Deny", "Action": "ec2:GetSpotPlacementScores", "Resource": "*"}]}`)
	})))
	c := ec2.NewFromConfig(admin(s, "us-east-1"))
	_, err := c.GetSpotPlacementScores(t.Context(), &ec2.GetSpotPlacementScoresInput{InstanceTypes: []string{"g6.12xlarge"}, TargetCapacity: aws.Int32(1)})
	wantCode(t, err, "UnauthorizedOperation")
	_, err = c.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	noError(t, err)
}

func TestDryRun(t *testing.T) {
	seed := frozen(account(func(a *world.AccountSeed) {
		a.Keys = append(a.Keys, world.Key{AccessKey: "AKIALEAST", Secret: "s", User: "least", Policy: json.RawMessage(onlyTagged)})
	}))
	s := sim.Start(t, seed)
	dry := func(in *ec2.CreateCapacityReservationInput) { in.DryRun = aws.Bool(true) }
	_, err := reserve(ec2.NewFromConfig(admin(s, "us-east-1")), "us-east-1b", 900, dry) // neither quota nor stock
	wantCode(t, err, "DryRunOperation")
	_, err = reserve(ec2.NewFromConfig(config(s, "us-east-1", "AKIALEAST", "s", "")), "us-east-1d", 1, dry)
	wantCode(t, err, "UnauthorizedOperation")
	wantUSD(t, s, 0, 0)
}
