// Package lookup enriches elements with what an outside service or database
// knows of them, through a cache ([Enrich]).
//
//	orders = lookup.Enrich(orders, Order.CustomerID, db.Customer,
//		func(o Order, c Customer, found bool) Order { o.Country = c.Country; return o },
//		lookup.TTL(10*time.Minute), lookup.NegativeTTL(10*time.Second),
//		transforms.AsyncLimit(50), transforms.AsyncTimeout(time.Second))
//
// For data that fits into memory and changes seldom a side input is simpler:
// see package side.
//
// The package is apart from transforms because its cache is of another module,
// github.com/dgraph-io/ristretto/v2.
package lookup
