//===- Hone.cpp - The C functions of hone.h -------------------------------===//

#include "api/ModelSession.h"

using namespace hone::rt;

static ModelSession &sessionOf(hone_session *session) {
  return *reinterpret_cast<ModelSession *>(session);
}

/// The result of a call that lacks an argument.
static hone_result missing(const Log &log, const char *what) {
  return log.tell(Status(ErrorCode::MissingOption, what,
                         "expects a value but got NULL", "give it"));
}

/// Calls use(session), unless another thread is in one.
template <typename Function>
static hone_result with(hone_session *given, Function use) {
  if (!given)
    return HONE_WRONG_CALL;
  ModelSession &session = sessionOf(given);
  const ModelSession::Use inUse(session);
  return inUse ? session.log.tell(use(session)) : HONE_BUSY;
}

extern "C" {

hone_result hone_planned_bytes(const hone_module *model,
                               const hone_options *options, hone_plan *out) {
  if (!options)
    return HONE_WRONG_CALL;
  const Log log(*options);
  if (!model || !out)
    return missing(log, "hone_planned_bytes");
  Result<Module> module = Module::open(*model);
  if (!module.isOk())
    return log.tell(module.status());
  Result<RunPlan> plan = ModelSession::plan(module.value(), *options);
  if (plan.isOk())
    *out = {plan.value().total, plan.value().resident,
            plan.value().weightBytes};
  return log.tell(plan.status());
}

hone_result hone_open(const hone_module *model, const hone_options *options,
                      hone_session **session) {
  if (session)
    *session = nullptr;
  if (!options)
    return HONE_WRONG_CALL;
  const Log log(*options);
  if (!model || !session)
    return missing(log, "hone_open");
  Result<std::unique_ptr<ModelSession>> opened =
      ModelSession::open(*model, *options);
  if (opened.isOk())
    *session = reinterpret_cast<hone_session *>(opened.value().release());
  return log.tell(opened.status());
}

uint64_t hone_completed_steps(const hone_session *session) {
  return session
             ? reinterpret_cast<const ModelSession *>(session)->completedSteps()
             : 0;
}

hone_result hone_step(hone_session *session, const hone_rows *rows,
                      hone_step_result *out) {
  return hone_step_for(session, rows, PauseRule::never, out);
}

hone_result hone_step_for(hone_session *session, const hone_rows *rows,
                          double seconds, hone_step_result *out) {
  bool isSuspended = false;
  const hone_result done = with(session, [&](ModelSession &used) -> Status {
    HONE_ASSIGN(const Trainer::StepResult result,
                used.step(rows ? *rows : hone_rows(), seconds));
    isSuspended = result.isSuspended;
    if (out && !isSuspended)
      *out = {result.loss, result.gradientNorm, result.learningRate,
              result.targets};
    return Status::ok();
  });
  return done == HONE_OK && isSuspended ? HONE_SUSPENDED : done;
}

hone_result hone_evaluate(hone_session *session, const hone_rows *rows,
                          hone_evaluation *out) {
  return with(session, [&](ModelSession &used) -> Status {
    HONE_ASSIGN(const Evaluation found,
                used.evaluate(rows ? *rows : hone_rows()));
    if (out)
      *out = {found.loss, found.tokens};
    return Status::ok();
  });
}

hone_result hone_save(hone_session *session) {
  return with(session, [](ModelSession &used) { return used.save(); });
}

hone_result hone_write_adapter(hone_session *session, const char *folder) {
  return with(session, [&](ModelSession &used) {
    return folder ? used.writeAdapter(folder)
                  : Status(ErrorCode::MissingOption, "hone_write_adapter",
                           "expects a folder but got NULL", "give one");
  });
}

hone_result hone_generate(hone_session *session, const int32_t *prompt,
                          uint64_t count, const hone_sampling *sampling,
                          hone_token_fn token, void *user) {
  return with(session, [&](ModelSession &used) {
    if (!prompt || !token)
      return Status(ErrorCode::MissingOption, "hone_generate",
                    "expects a prompt and a callback but got NULL",
                    "give both");
    return used.generate(prompt, count, sampling ? *sampling : hone_sampling(),
                         token, user);
  });
}

hone_result hone_close(hone_session *session) {
  if (!session)
    return HONE_OK;
  {
    const ModelSession::Use inUse(sessionOf(session));
    if (!inUse)
      return HONE_BUSY;
  }
  delete &sessionOf(session);
  return HONE_OK;
}

} // extern "C"
