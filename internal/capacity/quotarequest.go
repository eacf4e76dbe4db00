package capacity

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas/types"

	"github.com/trainyard/trainyard/internal/awsapi"
	"github.com/trainyard/trainyard/internal/fault"
)

// Filed is a request for more quota that AWS has.
type Filed struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Wanted  int    `json:"wantedVCPUs"`
	Already bool   `json:"already,omitempty"` // it was there before
}

// File asks AWS for more quota, unless a request for as much is open already. A
// smaller one that is open stands in the way: AWS takes one at a time.
func (q QuotaRequest) File(ctx context.Context, api awsapi.Quotas) (Filed, error) {
	open, err := q.open(ctx, api)
	switch {
	case err != nil:
		return Filed{}, awsapi.Explain(err)
	case open.ID != "" && open.Wanted < q.Wanted:
		return Filed{}, q.inTheWay(fmt.Sprintf("a request for %d vCPUs is open (%s, %s), and AWS takes one at a time", open.Wanted, open.ID, open.Status))
	case open.ID != "":
		return open, nil
	}
	service := ec2Service
	out, err := api.RequestServiceQuotaIncrease(ctx, &servicequotas.RequestServiceQuotaIncreaseInput{
		ServiceCode: &service, QuotaCode: &q.Code, DesiredValue: aws.Float64(float64(q.Wanted)),
	})
	switch {
	case awsapi.KindOf(err) == awsapi.Exists: // made since, or not listed yet
		return Filed{}, q.inTheWay("another request is open, and AWS takes one at a time")
	case err != nil:
		return Filed{}, awsapi.Explain(fmt.Errorf("requesting quota %s in %s: %w", q.Code, q.Region, err))
	}
	return Filed{ID: aws.ToString(out.RequestedQuota.Id), Status: string(out.RequestedQuota.Status), Wanted: q.Wanted}, nil
}

// inTheWay says why the quota stays short for now.
func (q QuotaRequest) inTheWay(why string) error {
	return fault.WithCode(fault.NoCapacity, fault.WithHint("ask for more in the support case that AWS has opened for it, or again when it is decided",
		fmt.Errorf("requesting quota %s in %s: %d vCPUs are wanted: %s", q.Code, q.Region, q.Wanted, why)))
}

// open is the largest request that AWS has not decided.
func (q QuotaRequest) open(ctx context.Context, api awsapi.Quotas) (open Filed, err error) {
	service := ec2Service
	pages := servicequotas.NewListRequestedServiceQuotaChangeHistoryByQuotaPaginator(api,
		&servicequotas.ListRequestedServiceQuotaChangeHistoryByQuotaInput{ServiceCode: &service, QuotaCode: &q.Code})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return Filed{}, fmt.Errorf("listing requests for quota %s in %s: %w", q.Code, q.Region, err)
		}
		for _, r := range page.RequestedQuotas {
			wanted := int(aws.ToFloat64(r.DesiredValue))
			undecided := r.Status == types.RequestStatusPending || r.Status == types.RequestStatusCaseOpened
			if undecided && wanted > open.Wanted {
				open = Filed{ID: aws.ToString(r.Id), Status: string(r.Status), Wanted: wanted, Already: true}
			}
		}
	}
	return open, nil
}
