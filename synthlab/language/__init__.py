"""Language models: next-token prediction on texts and on synthetic languages with known optimal predictors."""
