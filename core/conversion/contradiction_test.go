package conversion

import (
	"strings"
	"testing"
)

// Conditions that can never hold are refused when a program is saved; others are not.
func TestRule_Contradictions(t *testing.T) {
	t.Parallel()
	for conditions, refused := range map[string]string{
		"plan = pro and revenue >= 50":                  `conversion.conditions[0]: is two conditions in one; give "revenue >= 50" as a condition of its own`,
		"revenue >= 50 AND plan = pro":                  `is two conditions in one; give "plan = pro"`,
		"plan in (pro) && revenue >= 50":                "is two conditions in one",
		"revenue >= 50 or plan = pro":                   `has "or"`,
		"revenue >= 12,50":                              "has a comma; write a number with a point",
		"plan = pro, revenue >= 50":                     "has a comma",
		"country = DE or AT":                            `as in country in (DE, AT), or one value that has the word, as in country in (DE or AT)`,
		"revenue >= 4.000":                              "write 4000 or 4.00",
		"plan = pro; revenue > 5":                       `give "revenue > 5" as a condition of its own`,
		`plan in (pro, " x ")`:                          "has blanks around a value",
		"revenue < 0":                                   "can never hold",
		"revenue <= 0|plan = a;b":                       "",
		"currency = €":                                  "must be a currency code of ISO 4217, such as EUR",
		`plan in ("black or white")|currency = usd`:     "",
		"weight < 0.125|weight != 1.125":                "",
		"weight < 1.1e2":                                "",
		"plan = a and plan = b and revenue > 1":         "is two conditions in one",
		"revenue > 5|revenue < 3":                       "conversion.conditions[1]: can never hold together with revenue > 5; remove one of the two",
		"revenue >= 5|revenue < 5":                      "conversion.conditions[1]",
		"revenue > 5|revenue > 7|revenue <= 6":          "conversion.conditions[2]: can never hold together with revenue > 7",
		"x = a|y = b|x = b":                             "conversion.conditions[2]: can never hold together with x = a",
		"plan = pro|plan >= 50":                         "conversion.conditions[1]",
		"plan >= 50|plan = pro":                         "conversion.conditions[1]",
		"plan in (a, b)|plan in (c, d)":                 "conversion.conditions[1]",
		"plan = pro|plan != PRO":                        "conversion.conditions[1]",
		"plan in (a, b)|plan != a|plan not in (b, c)":   "conversion.conditions[2]: can never hold together with the other conditions on plan",
		"revenue >= 20|revenue <= 20|revenue != 20.0":   "conversion.conditions[2]: can never hold together with the other conditions on revenue",
		"revenue = 50.00|revenue > 50":                  "conversion.conditions[1]",
		"revenue >= 5|revenue <= 5":                     "",
		"revenue = 50.00|revenue >= 50":                 "",
		"plan in (a, 7)|plan > 5":                       "",
		"plan = pro|PLAN = team":                        "", // another field
		"city = Trinidad and Tobago":                    "",
		`name = "rock and roll"|name != "this or that"`: "",
		"revenue > 5|revenue < 3.5|currency = USD":      "conversion.conditions[1]",
		"plan != a|plan != b|revenue > 1|revenue < 9":   "",
	} {
		r := Rule{Event: "purchase"}
		var err error
		for text := range strings.SplitSeq(conditions, "|") {
			if strings.Contains(conditions, "||") {
				t.Fatal("the texts of a case are separated by |")
			}
			c, parsed := ParseCondition("conversion.conditions[0]", text)
			if parsed != nil {
				err = parsed
				break
			}
			r.Conditions = append(r.Conditions, c)
		}
		if err == nil {
			err = r.Check()
		}
		switch {
		case refused == "" && err != nil:
			t.Errorf("%s: %v", conditions, err)
		case refused != "" && (err == nil || !strings.Contains(err.Error(), refused)):
			t.Errorf("%s: %v, want %s", conditions, err, refused)
		}
	}
}
