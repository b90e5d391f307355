module example/tiny

go 1.26
