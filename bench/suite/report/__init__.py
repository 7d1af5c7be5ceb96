"""What is made of the figures: ratios, targets, pages with plots."""
