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

// File asks AWS for more quota, unless a request for as much is open already.
func (q QuotaRequest) File(ctx context.Context, api awsapi.Quotas) (Filed, error) {
	open, err := q.open(ctx, api)
	if err != nil || open.ID != "" {
		return open, awsapi.Explain(err)
	}
	service := ec2Service
	out, err := api.RequestServiceQuotaIncrease(ctx, &servicequotas.RequestServiceQuotaIncreaseInput{
		ServiceCode: &service, QuotaCode: &q.Code, DesiredValue: aws.Float64(float64(q.Wanted)),
	})
	if err != nil {
		return Filed{}, fault.WithHint(q.Command(), awsapi.Explain(fmt.Errorf("requesting quota %s in %s: %w", q.Code, q.Region, err)))
	}
	return Filed{ID: aws.ToString(out.RequestedQuota.Id), Status: string(out.RequestedQuota.Status), Wanted: q.Wanted}, nil
}

// open is a request for as much that AWS has not decided.
func (q QuotaRequest) open(ctx context.Context, api awsapi.Quotas) (Filed, error) {
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
			if undecided && wanted >= q.Wanted {
				return Filed{ID: aws.ToString(r.Id), Status: string(r.Status), Wanted: wanted, Already: true}, nil
			}
		}
	}
	return Filed{}, nil
}
