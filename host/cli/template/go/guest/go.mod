module app/SLUG

go 1.22
