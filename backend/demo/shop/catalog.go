package shop

// Product is something that the shop sells.
type Product struct {
	ID, Name, Pitch string
	// Facts are shown as a list below the pitch.
	Facts []string
	// Price is that of one order, or of one month of a subscription.
	Price cents
	// TrialDays is the length of the trial; 0 for a product that is bought once.
	TrialDays int
}

// Monthly reports whether the product is a subscription.
func (p *Product) Monthly() bool { return p.TrialDays > 0 }

const (
	grinder = "grinder"
	coffee  = "coffee"
)

// catalog has the products in the order of the page.
var catalog = []*Product{
	{
		ID: grinder, Name: "Hand grinder No. 2", Price: 8900,
		Pitch: "Forty clicks from espresso to French press, in steel and walnut. It will outlive your kettle.",
		Facts: []string{"38 mm conical burrs", "Holds 30 g, enough for two cups", "30 days to return it"},
	},
	{
		ID: coffee, Name: "Coffee every month", Price: 1800, TrialDays: 14,
		Pitch: "Two bags of what we roasted this week, with you before the last cup is gone.",
		Facts: []string{"2 × 250 g, whole beans", "14 days free, then $18.00 a month", "Cancel whenever you like"},
	},
}

// productByID returns a product, or nil.
func productByID(id string) *Product {
	for _, p := range catalog {
		if p.ID == id {
			return p
		}
	}
	return nil
}

// Terms of a one-off order.
const (
	shipping cents       = 690
	tax      basisPoints = 800
)

// Bill has the lines of an order.
type Bill struct {
	Price    cents
	Discount cents
	// Percent is the friend's discount; 0 for none.
	Percent  basisPoints
	Tax      cents
	Shipping cents
}

// Goods is what the order is worth without tax and shipping. The shop reports it as the
// revenue: a referrer earns a share of what the shop sells, and not of the tax.
func (b Bill) Goods() cents { return b.Price - b.Discount }

// Total is what the customer pays.
func (b Bill) Total() cents { return b.Goods() + b.Tax + b.Shipping }

// billFor returns the bill of a product with a discount. A subscription has no tax and
// shipping lines: its price includes them.
func billFor(p *Product, percent basisPoints) Bill {
	b := Bill{Price: p.Price, Percent: percent, Discount: percent.of(p.Price)}
	if !p.Monthly() {
		b.Tax, b.Shipping = tax.of(b.Goods()), shipping
	}
	return b
}
