/*===- engine.h - A library that carries frames for programs -------------===*\
 |                                                                            |
 | A library that carries frames exports                                      |
 |                                                                            |
 |     const hone_engine *hone_exchange_engine(void);                         |
 |                                                                            |
 | and may export                                                             |
 |                                                                            |
 |     const char *hone_exchange_problem(void);                               |
 |                                                                            |
 | which is asked first: empty, or why nothing can be carried here.           |
 |                                                                            |
 | and, if it can tell that an address is of no use before it meets anybody,  |
 |                                                                            |
 |     int hone_exchange_check(const char *address, char *why,                |
 |                             uint64_t capacity);                            |
 |                                                                            |
 | which returns 0, or writes the reason; it may begin to listen there.       |
 |                                                                            |
 | A program that can load nothing, as a static one, is linked with an object |
 | file that has hone_exchange_engine(); --exchange then names that engine.   |
 |                                                                            |
 | Of an engine whose launcher numbers the programs that it starts,           |
 |                                                                            |
 |     int hone_exchange_place(uint32_t *rank, uint32_t *ranks, char *why,    |
 |                             uint64_t capacity);                            |
 |                                                                            |
 | gives this one's number, from 0, and how many there are, and returns 0; or |
 | writes why there is no launcher.                                           |
 |                                                                            |
 | A link may lose frames, double them, bring them late or end at any time:   |
 | what is above numbers, acknowledges and sends again. It must not join      |
 | frames or change one: a frame that it cannot bring whole is lost.          |
 |                                                                            |
\*===----------------------------------------------------------------------===*/

#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_ENGINE_VERSION 4u
/* Of a frame, at most. */
#define HONE_FRAME_BYTES (896 * 1024 + 72)

typedef struct hone_link hone_link;

typedef struct hone_engine {
  uint32_t version; /* HONE_ENGINE_VERSION */
  uint32_t size;    /* sizeof(hone_engine) */
  const char *name;
  /* A link of `self` to `peer` over `address`, which the engine understands.
     Null if there is none after `milliseconds`; then `why`, of `capacity`
     bytes, says the reason. A new link replaces an old one between the two.
     errno, which is 0 before, is EACCES if the peer does not admit this side,
     EBUSY if it is another's, and EINVAL if nobody can be reached by this
     address: to try again is then of no use. */
  hone_link *(*open)(const char *address, const char *self, const char *peer,
                     int milliseconds, char *why, uint64_t capacity);
  /* Takes a frame; `bytes` are free again on return. 0; 1: not now, since one
     that was taken before has not left, so call next() and try again; -1: the
     link is lost. Never waits for the peer: both may have much to send. */
  int (*send)(hone_link *link, const void *bytes, uint64_t size);
  /* Writes the next frame and returns its size. 0: none came within
     `milliseconds`, or wake() was called, or send() can take a frame again; -1:
     the link is lost. */
  int64_t (*next)(hone_link *link, void *bytes, uint64_t capacity,
                  int milliseconds);
  /* Ends a next() of another thread, or the one that comes. The only function
     that may be called beside another. */
  void (*wake)(hone_link *link);
  void (*close)(hone_link *link);
  /* Memory that the engine takes at most, its library's own included; for each
     other program of the run beside it, whether there is a link to it or not;
     and for each link, without the frames below. It is in the plan of a run. */
  uint64_t bytes, program_bytes, link_bytes;
  /* Nonzero: as long as a link lives, each frame comes once, whole and in
     order, and next() finds out that it is lost though nothing is sent over it.
     So nothing is sent again before that. */
  uint32_t is_ordered;
  /* Frames that a link has room for; it touches no more of it than they have.
   */
  uint32_t link_frames;
  /* Of a message in a frame, at most, over a link that is quick: one that is
     slow has at most 256 KiB in each. 0: 256 KiB; at most 896 KiB. Where a
     program has several links it is less, so that all fit its plan. */
  uint64_t piece_bytes;
  /* The same, at least, however many links there are. 0: 16 KiB. */
  uint64_t least_piece_bytes;
  /* Of a program's plan, for the engine and all links, as far as the shortest
     frames leave the choice. 0: 16 MiB. */
  uint64_t plan_bytes;
} hone_engine;

#ifdef __cplusplus
}
#endif
