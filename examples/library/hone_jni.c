/*===- hone_jni.c - hone.h for Java ----------------------------------------===*
 *
 * On Android this is a part of the app's native library; ids, targets and
 * starts have one length.
 *
 *===----------------------------------------------------------------------===*/

#include "model.h"

#include <jni.h>
#include <stdio.h>

static void tell(void *user, hone_log_level level, const char *text) {
  (void)user;
  (void)level;
  fputs(text, stderr);
}

JNIEXPORT jlong JNICALL Java_Train_open(JNIEnv *env, jclass type,
                                        jstring weights, jlong steps) {
  (void)type;
  const char *path = (*env)->GetStringUTFChars(env, weights, NULL);
  hone_options options = {.struct_size = sizeof options,
                          .threads = 2,
                          .weights = path,
                          .steps = (uint64_t)steps,
                          .log = tell};
  hone_session *session;
  hone_open(&hone_model, &options, &session); /* NULL on an error */
  (*env)->ReleaseStringUTFChars(env, weights, path);
  return (jlong)session;
}

JNIEXPORT jdouble JNICALL Java_Train_step(JNIEnv *env, jclass type,
                                          jlong session, jintArray ids,
                                          jintArray targets, jintArray starts) {
  (void)type;
  jintArray arrays[] = {ids, targets, starts};
  jint *numbers[3];
  for (int i = 0; i < 3; ++i)
    numbers[i] = (*env)->GetIntArrayElements(env, arrays[i], NULL);
  hone_rows rows = {numbers[0], numbers[1], numbers[2],
                    (uint64_t)(*env)->GetArrayLength(env, ids)};
  hone_step_result result = {0};
  const hone_result outcome =
      hone_step((hone_session *)session, &rows, &result);
  for (int i = 0; i < 3; ++i)
    (*env)->ReleaseIntArrayElements(env, arrays[i], numbers[i], JNI_ABORT);
  if (outcome != HONE_OK)
    (*env)->ThrowNew(env,
                     (*env)->FindClass(env, "java/lang/IllegalStateException"),
                     "hone_step failed; the log has the reason");
  return result.loss;
}

JNIEXPORT void JNICALL Java_Train_close(JNIEnv *env, jclass type,
                                        jlong session) {
  (void)env;
  (void)type;
  hone_close((hone_session *)session);
}
