from tidegate import ToolPermission, tool_permission

@tool_permission(ToolPermission.WRITE, ToolPermission.CONNECT)
def send_payment_notification(email: str, amount: float) -> bool:
    """Send payment notification to external email."""
    return True

# If the session has private data, calling this tool raises ToolPermissionError
