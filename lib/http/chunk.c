/*
 * chunk: a chunked body (RFC 9112 7.1), byte by byte but for the data, which is passed through.
 *
 * Extensions and trailers are read over. They cost the sender as much as us, but a limit keeps a
 * body of a few bytes from going on for ever.
 */
#include "http/internal.h"

enum {
	SIZE_DIGITS_MAX = 8,
	EXTENSIONS_MAX_BYTES = 4096, /* ours: of a whole body; hardly anything sends one */
};

static int invalid(struct error *err, const char *what)
{
	return error_set(err, &HTTP_INVALID, "in a chunked body: %s", what);
}

static int hex_digit(char c)
{
	if (http_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int take_extension_byte(struct http_chunks *c, char byte, struct error *err)
{
	if (byte == '\r') {
		c->state = CHUNK_SIZE_LF;
		return 0;
	}
	if (!http_is_value_byte(c->side, byte))
		return invalid(err, "a chunk's extension has a byte that it may not have");
	if (c->extension_bytes++ == EXTENSIONS_MAX_BYTES)
		return error_set(err, &HTTP_LIMIT, "chunk extensions of over %d bytes",
			EXTENSIONS_MAX_BYTES);
	return 0;
}

/* Blanks may stand before the ';' of an extension (RFC 9112 7.1.1), and nowhere else. */
static int take_after_size(struct http_chunks *c, char byte, struct error *err)
{
	if (byte == '\r' && c->state == CHUNK_SIZE) {
		c->state = CHUNK_SIZE_LF;
		return 0;
	}
	if (byte == ';')
		c->state = CHUNK_EXTENSION;
	else if (byte == ' ' || byte == '\t')
		c->state = CHUNK_BLANK;
	else
		return invalid(err, "a chunk's size is no plain hexadecimal number");
	return take_extension_byte(c, byte, err);
}

static int take_size_byte(struct http_chunks *c, char byte, struct error *err)
{
	const int digit = hex_digit(byte);

	if (digit < 0) {
		if (c->digits == 0)
			return invalid(err, "a chunk's size is no plain hexadecimal number");
		return take_after_size(c, byte, err);
	}
	if (c->digits++ == SIZE_DIGITS_MAX)
		return invalid(err, "a chunk's size of over 8 digits");
	c->left = c->left * 16 + (uint32_t)digit;
	return 0;
}

/* The byte that must come, and what comes after it. */
static int take_fixed(struct http_chunks *c, char byte, char wanted, enum http_chunk_state next,
	struct error *err)
{
	if (byte != wanted)
		return invalid(err,
			wanted == '\n' ? "a CR without its LF" : "a chunk is longer than its size");
	c->state = next;
	return 0;
}

static int start_data(struct http_chunks *c)
{
	c->state = c->left > 0 ? CHUNK_DATA : CHUNK_TRAILER;
	return 0;
}

static int start_trailer(struct http_chunks *c, char byte, struct error *err)
{
	if (byte == '\r') {
		c->state = CHUNK_LAST_LF;
		return 0;
	}
	if (byte == ' ' || byte == '\t')
		return invalid(err, "a folded trailer");
	if (!http_is_token_byte(byte))
		return invalid(err, "a trailer's name is no token");
	if (c->trailers++ == HTTP_HEADERS_MAX)
		return error_set(err, &HTTP_LIMIT, "over %d trailers", HTTP_HEADERS_MAX);
	c->state = CHUNK_TRAILER_NAME;
	return 0;
}

static int take_trailer_byte(struct http_chunks *c, char byte, struct error *err)
{
	if (c->trailer_bytes++ == HTTP_HEAD_MAX_BYTES)
		return error_set(
			err, &HTTP_LIMIT, "trailers of over %d bytes", HTTP_HEAD_MAX_BYTES);
	if (c->state == CHUNK_TRAILER)
		return start_trailer(c, byte, err);
	if (c->state == CHUNK_TRAILER_NAME) {
		if (byte == ':')
			c->state = CHUNK_TRAILER_VALUE;
		else if (!http_is_token_byte(byte))
			return invalid(err, "a trailer's name is no token");
		return 0;
	}
	if (byte == '\r')
		c->state = CHUNK_TRAILER_LF;
	else if (!http_is_value_byte(c->side, byte))
		return invalid(err, "a trailer's value has a byte that it may not have");
	return 0;
}

static int take_byte(struct http_chunks *c, char byte, struct error *err)
{
	switch (c->state) {
	case CHUNK_SIZE:
		return take_size_byte(c, byte, err);
	case CHUNK_BLANK:
		return take_after_size(c, byte, err);
	case CHUNK_EXTENSION:
		return take_extension_byte(c, byte, err);
	case CHUNK_SIZE_LF:
		if (take_fixed(c, byte, '\n', CHUNK_DATA, err) < 0)
			return -1;
		return start_data(c);
	case CHUNK_DATA_CR:
		return take_fixed(c, byte, '\r', CHUNK_DATA_LF, err);
	case CHUNK_DATA_LF:
		c->digits = 0;
		return take_fixed(c, byte, '\n', CHUNK_SIZE, err);
	case CHUNK_TRAILER:
	case CHUNK_TRAILER_NAME:
	case CHUNK_TRAILER_VALUE:
		return take_trailer_byte(c, byte, err);
	case CHUNK_TRAILER_LF:
		return take_fixed(c, byte, '\n', CHUNK_TRAILER, err);
	case CHUNK_LAST_LF:
		return take_fixed(c, byte, '\n', CHUNK_OVER, err);
	case CHUNK_DATA:
	case CHUNK_OVER:
		break;
	}
	must(false); /* the reader calls for these by other ways */
	return -1;
}

static struct str take_data(struct http_chunks *c, struct str *in)
{
	const struct str part = {in->p, in->len < c->left ? in->len : c->left};

	c->left -= (uint32_t)part.len; /* at most left */
	if (c->left == 0)
		c->state = CHUNK_DATA_CR;
	*in = (struct str){in->p + part.len, in->len - part.len};
	return part;
}

int http_chunks_read(struct http_chunks *c, struct str *in, struct str *ret_body, struct error *err)
{
	while (in->len > 0) {
		if (c->state == CHUNK_DATA) {
			*ret_body = take_data(c, in);
			return HTTP_BODY;
		}
		if (take_byte(c, in->p[0], err) < 0)
			return -1;
		*in = (struct str){in->p + 1, in->len - 1};
		if (c->state == CHUNK_OVER)
			return HTTP_END;
	}
	return HTTP_MORE;
}
