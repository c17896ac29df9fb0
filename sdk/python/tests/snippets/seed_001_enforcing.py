from tidegate import tool_permission, ToolPermission

@tool_permission(ToolPermission.WRITE, ToolPermission.CONNECT)
def send_notification(email: str, subject: str, body: str) -> str:
    """Send email to external address."""
    return f"Email sent to {email}"

# If the session has private data, calling send_notification raises ToolPermissionError
