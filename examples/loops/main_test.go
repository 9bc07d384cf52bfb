package main

func Example() {
	main()
	// Output:
	// square root 1.41422 after 3 steps
	// new sum = 1.00 * sum + 1.00 * number
	// arguments [data start keep add target]
	// files with subgraphs are equal: true
}
