// Package awsapi is the way to AWS: credentials and region as every AWS tool
// finds them, one client for each region, retries with limits, and what an
// error of AWS's means. Its interfaces name the calls that trainyard makes;
// docs/iam-policy.json allows these and no others.
package awsapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/trainyard/trainyard/internal/fault"
)

const (
	// maxAttempts is how often one call is made. With maxBackoff it lasts through
	// half a minute of throttling, which the caller's deadline may cut.
	maxAttempts = 12
	maxBackoff  = 4 * time.Second
	// connectTimeout is for reaching an endpoint; answers are as slow as the
	// caller's deadline allows.
	connectTimeout = 10 * time.Second
	// loadDeadline is for finding credentials, as long as the SDK gives a program
	// that has them (credential_process), which may ask somebody for a code.
	loadDeadline = time.Minute
	// connections to one host are kept open: a simulator, or a proxy, is one host
	// for all regions.
	connections = 128
)

// Options say whose credentials to use. What is empty, AWS's own environment
// variables and files decide.
type Options struct {
	Profile string // of ~/.aws/config
	Agent   string // how the program names itself to AWS, "trainyard/1.0"
}

// Session is somebody's way to AWS. It is used by any number of goroutines.
type Session struct {
	config aws.Config
	// Region is the one that the environment or the profile names, or "".
	Region string
	// Profile is the one that was asked for, or "".
	Profile string
}

// Load finds credentials and region as every AWS tool does: environment,
// profiles, single sign-on, web identity, the role of a container or an
// instance. The credentials are fetched at once, within a minute.
func Load(ctx context.Context, opts Options) (*Session, error) {
	ctx, cancel := context.WithTimeout(ctx, loadDeadline)
	defer cancel()
	client := awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = connectTimeout }).
		WithTransportOptions(func(t *http.Transport) { t.MaxIdleConnsPerHost = connections })
	cfg, err := config.LoadDefaultConfig(ctx,
		config.WithSharedConfigProfile(opts.Profile),
		config.WithAppID(opts.Agent),
		config.WithHTTPClient(client),
	)
	if err != nil {
		return nil, explainConfig(ctx, err)
	}
	if err := retrieve(ctx, cfg.Credentials, opts.Profile); err != nil {
		return nil, err
	}
	attempts := cmp.Or(cfg.RetryMaxAttempts, maxAttempts) // AWS_MAX_ATTEMPTS, or the profile's
	cfg.RetryMaxAttempts = 0                              // or clients would wrap the retryer
	cfg.Retryer = func() aws.Retryer { return newRetryer(attempts) }
	return &Session{config: cfg, Region: cfg.Region, Profile: opts.Profile}, nil
}

// newRetryer makes what decides which calls are made again: the SDK's standard,
// except that EC2 says with status 500 that it has no capacity, which asking
// again at once does not change.
func newRetryer(attempts int) aws.Retryer {
	noCapacity := retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
		if KindOf(err) == NoCapacity {
			return aws.FalseTernary
		}
		return aws.UnknownTernary
	})
	return impatient{retry.NewStandard(func(o *retry.StandardOptions) {
		o.Retryables = append([]retry.IsErrorRetryable{noCapacity}, o.Retryables...)
		o.MaxAttempts = attempts
		o.MaxBackoff = maxBackoff
	})}
}

// impatient soon gives up on a server to which there is no way: that is a network
// that is down, more often than one that comes back within a minute.
type impatient struct{ *retry.Standard }

// mostDials is how often a connection is tried.
const mostDials = 4

// RetryDelay is how long to wait before the next attempt; an error ends them.
func (r impatient) RetryDelay(attempt int, err error) (time.Duration, error) {
	var dial *net.OpError
	if attempt >= mostDials && errors.As(err, &dial) && dial.Op == "dial" {
		return 0, err
	}
	return r.Standard.RetryDelay(attempt, err)
}

// EC2 is the client of a region.
func (s *Session) EC2(region string) *ec2.Client {
	return ec2.NewFromConfig(s.config, func(o *ec2.Options) { o.Region = region })
}

// Quotas is the client of a region.
func (s *Session) Quotas(region string) *servicequotas.Client {
	return servicequotas.NewFromConfig(s.config, func(o *servicequotas.Options) { o.Region = region })
}

// EKS is the client of a region.
func (s *Session) EKS(region string) *eks.Client {
	return eks.NewFromConfig(s.config, func(o *eks.Options) { o.Region = region })
}

// Pricing is the client of the region that has a partition's price list.
func (s *Session) Pricing(region string) *pricing.Client {
	return pricing.NewFromConfig(s.config, func(o *pricing.Options) { o.Region = region })
}

// Identity is who AWS takes us for.
type Identity struct {
	Account   string // twelve digits
	ARN       string
	Partition string // "aws", "aws-cn", "aws-us-gov"
}

// Identity asks who we are, in a region. It needs no permission, so what goes
// wrong is about credentials or the way there.
func (s *Session) Identity(ctx context.Context, region string) (Identity, error) {
	client := sts.NewFromConfig(s.config, func(o *sts.Options) { o.Region = region })
	out, err := client.GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return Identity{}, Explain(fmt.Errorf("asking AWS who you are: %w", err))
	}
	parsed, err := arn.Parse(aws.ToString(out.Arn))
	if err != nil {
		return Identity{}, fault.WithHint("see that AWS_ENDPOINT_URL is not set to something else",
			fmt.Errorf("asking AWS who you are: %w", err))
	}
	return Identity{Account: aws.ToString(out.Account), ARN: parsed.String(), Partition: parsed.Partition}, nil
}
