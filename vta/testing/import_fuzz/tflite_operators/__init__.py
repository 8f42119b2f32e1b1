"""What can be added to a TFLite model: functions that take the model so far and add an operator, or a few, to it."""
