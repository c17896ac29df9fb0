from tidegate import DataSensitivity

# Ordered from least to most restrictive
DataSensitivity.PUBLIC
DataSensitivity.INTERNAL
DataSensitivity.CONFIDENTIAL
DataSensitivity.SECRET
