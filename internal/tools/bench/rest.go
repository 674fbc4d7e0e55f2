package main
func windows() []comparison { return nil }
func parquetScan() []comparison { return nil }
func kafkaSource() []comparison { return nil }
