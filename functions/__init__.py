"""What is deployed: one package a Lambda function."""
