//! The routes for questions to phones, and for what the platform sends by itself.

use crate::http::auth::approvals;
use crate::http::request::RequiredAccess::{ActiveUser, Admin, Anyone};
use crate::http::route::RateLimit::{Events, Questions};
use crate::http::route::Route;
use crate::http::{platform, verifications};

/// The routes for questions to phones. A fixed path stands before one with an id, which would match it.
pub(super) fn question_routes() -> Vec<Route> {
    let mut table = approval_routes();
    table.extend(verification_routes());
    table
}

/// The routes for approvals.
fn approval_routes() -> Vec<Route> {
    vec![
        Route::post("/api/auth/approvals", Admin, approvals::ask)
            .limit(Questions)
            .summary("Ask the caller's phone to approve a high-risk operation", "请求在本人手机上批准高风险操作")
            .error_title("Asking for an approval failed", "请求批准失败")
            .refuses(&[1003, 1005, 1006]),
        Route::post("/api/auth/approvals/question", Anyone, approvals::question)
            .limit(Questions)
            .summary("Read the operation to approve on the phone", "读取手机上待批准的操作")
            .error_title("Reading the operation failed", "读取待批准的操作失败")
            .refuses(&[1019]),
        Route::post("/api/auth/approvals/answer", Anyone, approvals::answer)
            .limit(Questions)
            .summary("Approve or refuse an operation on the phone", "在手机上批准或拒绝操作")
            .error_title("Answering failed", "提交回答失败")
            .refuses(&[1003, 1019]),
        Route::get("/api/auth/approvals/{id}", ActiveUser, approvals::status)
            .summary("Get the status of an approval that this session asked for", "查询本会话所请求的批准的状态")
            .error_title("Reading the approval failed", "查询批准状态失败"),
    ]
}

/// The routes for the verification of callers.
fn verification_routes() -> Vec<Route> {
    vec![
        Route::post("/api/verifications", ActiveUser, verifications::ask)
            .limit(Questions)
            .summary(
                "Ask an employee's phone whether the employee called IT (agents, supervisors, administrators)",
                "向员工手机确认是否本人致电 IT（限坐席、主管与管理员）",
            )
            .error_title("Asking the employee failed", "向员工确认失败")
            .refuses(&[1003, 1004, 1005, 1006]),
        Route::get("/api/verifications/mine", ActiveUser, verifications::mine)
            .summary("List who of IT is asking the signed-in user right now", "查询当前正在向本人确认的 IT 人员")
            .error_title("Reading the verifications failed", "查询来电验证失败"),
        Route::post("/api/verifications/question", Anyone, verifications::question)
            .limit(Questions)
            .summary("Read on the phone who asks whether its owner called IT", "在手机上读取由谁询问是否本人致电")
            .error_title("Reading the verification failed", "读取来电验证失败")
            .refuses(&[1019]),
        Route::post("/api/verifications/answer", Anyone, verifications::answer)
            .limit(Questions)
            .summary("Answer on the phone whether its owner called IT", "在手机上回答是否本人致电 IT")
            .error_title("Answering failed", "提交回答失败")
            .refuses(&[1003, 1019]),
        Route::get("/api/verifications/{id}", ActiveUser, verifications::status)
            .summary("Get the status of a verification that this session asked for", "查询本会话所请求的来电验证的状态")
            .error_title("Reading the verification failed", "查询来电验证状态失败"),
    ]
}

/// The routes for the platform.
pub(super) fn event_routes() -> Vec<Route> {
    vec![
        Route::get("/api/platform/events", Anyone, platform::events)
            .limit(Events)
            .summary("Answer the platform's check of this address", "响应平台对此地址的校验")
            .error_title("Receiving events failed", "接收事件失败"),
        Route::post("/api/platform/events", Anyone, platform::events)
            .limit(Events)
            .summary("Receive events of the platform about people", "接收平台的人员变更事件")
            .error_title("Receiving events failed", "接收事件失败"),
    ]
}
