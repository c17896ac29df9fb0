from tidegate import DataSensitivity, PrivateData

async def execute_sql(db_id: str, query: str, ctx: "RunContext") -> str:
    # ... validate query, execute, format results ...

    if db_config.sensitivity != DataSensitivity.PUBLIC:
        pd = PrivateData()
        pd.add_private_dataset(f"sql:{db_id}", db_config.sensitivity)

    return formatted_result
