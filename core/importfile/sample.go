package importfile

import (
	"strconv"
	"strings"

	"kith/core/job"
)

// SampleColumns returns the columns of a sample file for a type of job.
func SampleColumns(t job.Type) []string {
	switch t {
	case job.ImportUser:
		return []string{"accountId", "id", "firstName", "lastName", "email", "locale", "countryCode", "customFields.plan", "customFields.seats"}
	case job.ImportDelete:
		return []string{"accountId", "id", "doNotTrack"}
	case job.ImportUserEvent:
		return []string{"accountId", "userId", "event.key", "event.fields.revenue", "event.fields.currency", "event.fields.order_id", "idempotencyKey"}
	case job.ImportRedeem:
		return []string{"user.accountId", "user.id", "unit", "valueToRedeem", "idempotencyKey"}
	}
	return nil
}

// SampleRow returns row n of a sample file, counted from 0. It is the same for the
// same n. The rows of all types are about the same users.
func SampleRow(t job.Type, n int64) []string {
	number := strconv.FormatInt(n, 10)
	id := strings.Repeat("0", max(0, 7-len(number))) + number
	account, user := "acct-"+id, "user-"+id
	switch t {
	case job.ImportUser:
		first, last := pick(n, "Ada", "Ben", "Cleo", "Dora", "Emil", "Fred", "Gina"), pick(n/7, "Ahrens", "Brown", "Costa", "Diaz", "Ericson")
		return []string{account, user, first, last, strings.ToLower(first) + "." + id + "@example.com", "en_US", pick(n, "US", "DE", "BR"),
			pick(n, "free", "team", "pro"), strconv.FormatInt(n%50+1, 10)}
	case job.ImportDelete:
		return []string{account, user, pick(n, "false", "true")}
	case job.ImportUserEvent:
		return []string{account, user, "purchase", strconv.FormatInt(n%200+1, 10) + ".90", "USD", "order-" + id, "sample-order-" + id}
	case job.ImportRedeem:
		return []string{account, user, "CENTS", strconv.FormatInt(n%1000+1, 10), "sample-redeem-" + id}
	}
	return nil
}

func pick(n int64, options ...string) string { return options[n%int64(len(options))] }
