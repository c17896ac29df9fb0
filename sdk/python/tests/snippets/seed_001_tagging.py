from tidegate import PrivateData, DataSensitivity

pd = PrivateData()
pd.add_private_dataset("patient_records", DataSensitivity.CONFIDENTIAL)
pd.has_private_data   # True
pd.sensitivity        # DataSensitivity.CONFIDENTIAL
pd.get_private_datasets()  # ["patient_records"]
